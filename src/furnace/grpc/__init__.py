"""The Open Inference Protocol over gRPC: messages, tensors and the service. Needs the grpc extra."""
