"""Recurrent layers: LSTM, GRU and the plain one, in one direction and in both."""

from burn.nn.rnn.basic import BiRnn, BiRnnConfig, Rnn, RnnConfig
from burn.nn.rnn.gate_controller import GateController
from burn.nn.rnn.gru import BiGru, BiGruConfig, Gru, GruConfig
from burn.nn.rnn.lstm import BiLstm, BiLstmConfig, Lstm, LstmConfig
from burn.nn.rnn.state import LstmState, RnnState

__all__ = [
    "BiGru", "BiGruConfig", "BiLstm", "BiLstmConfig", "BiRnn", "BiRnnConfig",
    "GateController",
    "Gru", "GruConfig",
    "Lstm", "LstmConfig", "LstmState",
    "Rnn", "RnnConfig", "RnnState",
]  # fmt: skip
