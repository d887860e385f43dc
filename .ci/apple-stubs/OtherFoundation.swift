// The Foundation of this toolchain without the C library of this system, and with that of another one.
#if STUB_musl
@_exported import Musl
#else
@_exported import Android
#endif
@_exported import Dispatch
@_exported import FoundationEssentials

@_exported import class Foundation.Bundle
@_exported import protocol Foundation.CustomNSError
@_exported import class Foundation.DateFormatter
@_exported import class Foundation.FileHandle
@_exported import class Foundation.InputStream
@_exported import class Foundation.NSError
@_exported import class Foundation.NSObject
@_exported import protocol Foundation.NSObjectProtocol
@_exported import class Foundation.OperationQueue
@_exported import class Foundation.Stream
@_exported import struct Foundation.ObjCBool
@_exported import class Foundation.PropertyListSerialization
@_exported import class Foundation.Thread
@_exported import let Foundation.NSLocalizedDescriptionKey
@_exported import struct Foundation.CharacterSet
@_exported import struct Foundation.URLError
