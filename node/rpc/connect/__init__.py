"""The Connect protocol: methods of the gRPC services over plain HTTP."""
