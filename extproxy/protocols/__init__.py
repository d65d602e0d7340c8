"""What frames mean, as data: protocol files, and the engine that reads frames by them."""

from extproxy.protocols.detect import Detector
from extproxy.protocols.loading import load_protocol
from extproxy.protocols.model import Protocol
from extproxy.protocols.registry import Registry, built_in

__all__ = ["Detector", "Protocol", "Registry", "built_in", "load_protocol"]
