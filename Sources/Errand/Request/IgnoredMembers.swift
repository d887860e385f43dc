#if DEBUG
internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Finds the members of ``Request`` that only a subclass declares, which Swift ignores.
///
/// Stored properties are found by reflection. The runtime has no names of other members, so these are searched in the symbols
/// of the program's file. Without symbols, they are not found.
enum IgnoredMembers {
    private static let known = Lock<[ObjectIdentifier: Diagnostic?]>([:])

    /// Returns the diagnostic for the class of a request, or of the request that it wraps, or `nil` if there is none.
    static func diagnostic(of request: any Request) -> Diagnostic? {
        if let wrapper = request as? any RequestWrapper { return diagnostic(of: base(of: wrapper)) }
        guard let type = type(of: request) as? AnyClass else { return nil }
        if let diagnostic = known.withLock({ $0[ObjectIdentifier(type)] }) { return diagnostic }
        // The mirror of its own may show anything.
        let diagnostic = find(in: Mirror(reflecting: request), isCustom: request is any CustomReflectable)
        known.withLock { $0[ObjectIdentifier(type)] = .some(diagnostic) }
        return diagnostic
    }

    private static func base(of wrapper: some RequestWrapper) -> any Request { wrapper.base }

    private static func find(in mirror: Mirror, isCustom: Bool) -> Diagnostic? {
        let chain = Array(sequence(first: mirror) { $0.superclassMirror })
        // The conformance is that of the outermost class that has one.
        guard let place = chain.lastIndex(where: { $0.subjectType is any Request.Type }), place > 0 else { return nil }
        let inherited = chain[place...].map { declared(in: $0) }
        var ignored: Set<String> = []
        for mirror in chain[..<place] {
            // A stored property never overrides another one.
            if !isCustom { ignored.formUnion(mirror.children.compactMap(\.label)) }
            // Without the symbols of the superclasses, an override looks the same.
            guard !inherited.contains(where: { $0 == nil }), let own = declared(in: mirror) else { continue }
            ignored.formUnion(own.subtracting(inherited.reduce(into: []) { $0.formUnion($1 ?? []) }))
        }
        ignored.formIntersection(members)
        guard !ignored.isEmpty else { return nil }
        return .ignoredMembers(
            ignored.sorted(),
            of: "\(mirror.subjectType)",
            conforming: "\(chain[place].subjectType)"
        )
    }

    /// The names of the requirements.
    private static let members: Set<String> = Set(
        Mirror(reflecting: RequestValues.defaults).children.compactMap(\.label)
            + ["formatter", "check", "didProduce", "shouldCache", "customURLRequest"]
    )

    /// Returns the members that a class declares, or `nil` if its symbols cannot be read.
    private static func declared(in mirror: Mirror) -> Set<String>? {
        guard let type = mirror.subjectType as? AnyClass, let mangled = _mangledTypeName(type), let demangle,
            let name = demangle("$s" + mangled)
        else { return nil }
        var names: Set<String> = []
        var isFound = false
        for symbol in symbols(of: type, beginningWith: "$s" + mangled) {
            isFound = true
            guard let text = demangle(symbol), text.hasPrefix(name + ".") else { continue }
            let rest = text.dropFirst(name.count + 1)
            let member = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            let kind = rest.dropFirst(member.count)
            if kind.hasPrefix(".getter") || kind.hasPrefix("(") { names.insert(String(member)) }
        }
        return isFound ? names : nil
    }

    /// Returns the symbols of the file that a class was loaded from.
    private static func symbols(of type: AnyClass, beginningWith prefix: String) -> Set<String> {
        // A file that cannot be read has no symbols.
        guard let path = path(of: type), let file = try? Data(contentsOf: URL(filePath: path), options: .alwaysMapped)
        else { return [] }
        var symbols: Set<String> = []
        let pattern = Array(prefix.utf8)
        file.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, let search else { return }
            var offset = 0
            while let found = search(start + offset, bytes.count - offset, pattern, pattern.count) {
                let begin = found - start
                offset = bytes[begin...].prefix(4096).firstIndex(of: 0) ?? begin + pattern.count
                symbols.insert(String(decoding: bytes[begin..<offset], as: UTF8.self))
            }
        }
        return symbols
    }

    /// Returns the path of the file that a class was loaded from, or `nil` if it is not known.
    private static func path(of type: AnyClass) -> String? {
        #if canImport(Darwin)
        var info = Dl_info()
        guard dladdr(unsafeBitCast(type, to: UnsafeRawPointer.self), &info) != 0 else { return nil }
        return info.dli_fname.map { String(cString: $0) }
        #else
        // Packages are linked into the program itself.
        "/proc/self/exe"
        #endif
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
