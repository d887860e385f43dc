public import Foundation

/// The file of a ``CookieJar``, which only its owner may read, and which is replaced atomically.
struct CookieFile: Sendable {
    struct Content: Sendable, Equatable {
        /// The name of the jar; see ``CookieJar/credentialScope(for:)``.
        var name: String
        /// The cookies with a date of expiry, in the order of their creation.
        var cookies: [Cookie]
    }

    let path: String

    /// The maximum size of a file; a larger one is damaged.
    private static let maximumByteCount = 32 << 20

    /// Returns the content of the file, or `nil` if there is none.
    ///
    /// - Parameter now: The current time, which limits the dates of expiry.
    /// - Returns: The content; its cookies may have expired.
    /// - Throws: ``CookieJar/DamagedFile``, `POSIXError`, or ``NetworkError/Reason/fileUnusable(_:)`` for a device or a pipe.
    func read(at now: Date) throws -> Content? {
        try check()
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw POSIXError.last
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw POSIXError.last }
        // It may grow while it is read.
        guard facts.st_mode & S_IFMT == S_IFREG, let data = try handle.read(upToCount: Self.maximumByteCount + 1),
            data.count <= Self.maximumByteCount, let content = Content(data, at: now)
        else { throw CookieJar.DamagedFile(path: path) }
        return content
    }

    private func check() throws(NetworkError) {
        guard let kind = SpecialFile.kind(at: path) else { return }
        throw NetworkError(.fileUnusable("\(path): it is \(kind), and no file of cookies; choose another path"))
    }

    /// Replaces the file; until the new one is complete, the old one is kept.
    ///
    /// - Throws: `POSIXError` or an error of Foundation, or ``NetworkError/Reason/fileUnusable(_:)`` for a device or a pipe.
    func write(_ content: Content) throws {
        try check()
        let folder = URL(filePath: path).deletingLastPathComponent()
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let temporary = "\(path).\(getpid())-\(String(UInt64.random(in: .min ... .max), radix: 16))"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw POSIXError.last }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try handle.write(contentsOf: content.data)
            // Otherwise the file could be empty after a power failure.
            try handle.synchronize()
            guard rename(temporary, path) == 0 else { throw POSIXError.last }
        } catch {
            unlink(temporary)
            throw error
        }
    }
}

extension CookieFile.Content {
    private static let version = 1

    /// Creates the content of a file, or returns `nil` if the file is damaged.
    init?(_ data: Data, at now: Date) {
        // The cause does not matter: the file is damaged.
        guard let value = try? JSONValue(parsing: data), value["version"]?.int == Self.version,
            let name = value["name"]?.string, name.utf8.count <= 64, let list = value["cookies"]?.array,
            list.count <= CookieStore.maximumCount
        else { return nil }
        let cookies = list.compactMap { Cookie($0, at: now) }
        guard cookies.count == list.count else { return nil }
        self.init(name: name, cookies: cookies)
    }

    /// The content as JSON.
    var data: Data {
        let cookies = JSONValue.array(cookies.map(\.json))
        return JSONValue.object(
            JSONObject([("version", .number(JSONNumber(Self.version))), ("name", .string(name)), ("cookies", cookies)])
        ).data
    }
}

extension Cookie {
    fileprivate init?(_ value: JSONValue, at now: Date) {
        guard let name = value["name"]?.string, let text = value["value"]?.string,
            let domain = value["domain"]?.string, let path = value["path"]?.string,
            let seconds = value["expires"]?.double, seconds.isFinite, let isHostOnly = value["hostOnly"]?.bool,
            let isSecure = value["secure"]?.bool, let isHTTPOnly = value["httpOnly"]?.bool,
            isHostOnly || !CookieOrigin.isSingleLabel(domain)
        else { return nil }
        self.init(
            name: name,
            value: text,
            domain: domain,
            path: path,
            expires: min(Date(timeIntervalSince1970: seconds), Self.latestDate(from: now)),
            isHostOnly: isHostOnly,
            isSecure: isSecure,
            isHTTPOnly: isHTTPOnly
        )
        if !isAcceptable { return nil }
    }

    fileprivate var json: JSONValue {
        let seconds = (expires ?? .distantPast).timeIntervalSince1970
        return .object(
            JSONObject([
                ("name", .string(name)), ("value", .string(value)), ("domain", .string(domain)),
                ("path", .string(path)), ("expires", JSONNumber(seconds).map(JSONValue.number) ?? .null),
                ("hostOnly", .bool(isHostOnly)), ("secure", .bool(isSecure)), ("httpOnly", .bool(isHTTPOnly)),
            ])
        )
    }
}

extension CookieJar {
    /// The error if a file was not written by a jar, or is not complete.
    public struct DamagedFile: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
        /// The path of the file.
        public let path: String

        /// The problem, and what to do.
        public var description: String {
            "\(path) is damaged, or not the file of a cookie jar; the jar began empty, and the next change replaces the file"
        }

        /// The ``description``, for `localizedDescription`.
        public var errorDescription: String? { description }
    }
}
