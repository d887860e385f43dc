#if DEBUG
internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The members that types declare, read from the symbols of the program's file; the runtime has no names of them.
enum ProgramSymbols {
    /// What follows the names of members, such as `.getter : Swift.String`, or `(_: Swift.Int) -> ()`.
    typealias Members = [String: Set<String>]

    /// Returns the members that a type declares, or `nil` if its symbols cannot be read.
    ///
    /// A type with generic arguments has none: its symbols have the name of the type without them.
    static func members(of type: Any.Type) -> Members? {
        guard let mangled = _mangledTypeName(type), let name = name(of: type) else { return nil }
        return members(beginningWith: "$s" + mangled, of: name, in: type)
    }

    /// Returns the name of a type as the symbols of members spell it, or `nil` if it has none.
    static func name(of type: Any.Type) -> String? { _mangledTypeName(type).flatMap { demangle?("$s" + $0) } }

    /// Returns the members that the library itself declares in extensions of one of its protocols.
    static func members(ofProtocol name: String) -> Members? {
        let prefix = "$s6Errand\(name.utf8.count)\(name)PAAE"
        return members(beginningWith: prefix, of: "(extension in Errand):Errand.\(name)", in: ResponseCache.self)
    }

    private static func members(beginningWith prefix: String, of name: String, in type: Any.Type) -> Members? {
        guard let demangle else { return nil }
        let symbols = symbols(of: type, beginningWith: prefix)
        guard !symbols.isEmpty else { return nil }
        var members: Members = [:]
        for text in symbols.compactMap(demangle) where text.hasPrefix(name + ".") {
            let rest = text.dropFirst(name.count + 1)
            let member = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            let kind = rest.dropFirst(member.count)
            if kind.hasPrefix(".getter") || kind.hasPrefix("(") {
                members[String(member), default: []].insert(String(kind))
            }
        }
        return members
    }

    /// Returns the symbols of the file that a type was loaded from.
    private static func symbols(of type: Any.Type, beginningWith prefix: String) -> Set<String> {
        guard let file = file(of: type), let search else { return [] }
        var symbols: Set<String> = []
        let pattern = Array(prefix.utf8)
        file.withUnsafeBytes { bytes in
            let names = UnsafeRawBufferPointer(rebasing: bytes[names(in: bytes)])
            guard let start = names.baseAddress else { return }
            var offset = 0
            while let found = search(start + offset, names.count - offset, pattern, pattern.count) {
                let begin = found - start
                offset = names[begin...].prefix(4096).firstIndex(of: 0) ?? begin + pattern.count
                symbols.insert(String(decoding: names[begin..<offset], as: UTF8.self))
            }
        }
        return symbols
    }

    /// Returns the range of the names of symbols in a file of the format ELF; all of another file.
    private static func names(in bytes: UnsafeRawBufferPointer) -> Range<Int> {
        func number<T: FixedWidthInteger>(_ type: T.Type, at offset: Int) -> Int {
            guard offset >= 0, offset <= bytes.count - MemoryLayout<T>.size else { return 0 }
            return Int(truncatingIfNeeded: T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self)))
        }
        guard bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]) else { return bytes.indices }
        let (table, size, count) = (
            number(UInt64.self, at: 40), number(UInt16.self, at: 58), number(UInt16.self, at: 60)
        )
        // A section of type 2 has the symbols, and a link to the section with their names.
        for section in (0..<count).map({ table &+ $0 &* size }) where number(UInt32.self, at: section &+ 4) == 2 {
            let names = table &+ number(UInt32.self, at: section &+ 40) &* size
            let (begin, length) = (number(UInt64.self, at: names &+ 24), number(UInt64.self, at: names &+ 32))
            if 0...bytes.count ~= begin, 0...bytes.count - begin ~= length { return begin..<begin + length }
        }
        return bytes.indices
    }

    /// Returns the file that a type was loaded from, or `nil` if it cannot be read.
    private static func file(of type: Any.Type) -> Data? {
        #if canImport(Darwin)
        var info = Dl_info()
        guard dladdr(unsafeBitCast(type, to: UnsafeRawPointer.self), &info) != 0, let name = info.dli_fname else {
            return nil
        }
        return map(String(cString: name))
        #else
        // Packages are linked into the program itself.
        program
        #endif
    }

    #if !canImport(Darwin)
    private static let program = map("/proc/self/exe")
    #endif

    // A file that cannot be read has no symbols.
    private static func map(_ path: String) -> Data? {
        try? Data(contentsOf: URL(filePath: path), options: .alwaysMapped)
    }

    private typealias Search = @convention(c) (UnsafeRawPointer, Int, UnsafeRawPointer, Int) -> UnsafeRawPointer?
    private typealias Demangle =
        @convention(c) (
            UnsafePointer<CChar>?, Int, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<Int>?, UInt32
        ) -> UnsafeMutablePointer<CChar>?

    /// `memmem`, which Glibc declares for programs in C only.
    private static let search: Search? = function("memmem").map { unsafeBitCast($0, to: Search.self) }

    /// The demangler of the Swift runtime, or `nil` if the program does not export it.
    private static let demangle: (@Sendable (String) -> String?)? = function("swift_demangle").map { symbol in
        let demangle = unsafeBitCast(symbol, to: Demangle.self)
        return { name in
            guard let text = demangle(name, name.utf8.count, nil, nil, 0) else { return nil }
            defer { free(text) }
            return String(cString: text)
        }
    }

    private static func function(_ name: String) -> UnsafeMutableRawPointer? { dlsym(dlopen(nil, RTLD_NOW), name) }
}
#endif
