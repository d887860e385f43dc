internal import Foundation

/// What is known of an unfinished download: the content of the file beside its bytes.
///
/// It contains no secret.
struct DownloadRecord: Codable, Sendable, Hashable {
    /// The version of the format; a record of another one is not used.
    var version = Self.currentVersion
    /// A random text that the digests contain, so that equal ones are not seen to be equal.
    var salt: String
    /// A digest of the content and the user; nothing else about them is written.
    var identity: String
    /// A digest of the URL of the response, after redirects: two mirrors may use one tag for two contents.
    var location: String
    /// The value for `If-Range`: a strong entity tag or date, or `nil` if the rest cannot be requested alone.
    var validator: String?
    /// The complete length, or `nil` if the server did not declare it.
    var length: Int64?
    /// The name that the file gets in the folder that it is downloaded to, or `nil` if the caller named the file.
    var fileName: String?
    /// The boot of the system in which the bytes were written, or `nil` if it is not known.
    var boot = SystemBoot.id

    static let currentVersion = 4

    /// The maximum size of a record's file.
    static let maximumSize = 16 << 10
    /// The maximum size of a text in a record, which servers can influence.
    private static let maximumTextSize = 2 << 10

    /// What an unfinished download belongs to: a URL, and the user for whom it is sent.
    ///
    /// The server's validator alone does not distinguish the contents of two users: many servers make it of a time and a size.
    struct Content: Sendable, Hashable {
        let place: String
        let user: String

        /// - Returns: `nil` if the user is not known, so that nothing is continued.
        init?(of send: any ReceivedSend, at url: URL) {
            guard let user = send.userDigest else { return nil }
            self.init(at: url, for: user)
        }

        init(at url: URL, for user: String) { (place, self.user) = (url.contentText, user) }
    }

    /// Creates the record of a complete response, before its first byte.
    ///
    /// - Parameters:
    ///   - content: What it belongs to, or `nil` if the user is not known.
    ///   - location: The URL of the response.
    ///   - headers: The header fields of the response.
    ///   - statusCode: The status of the response.
    ///   - fileName: As in ``fileName``.
    init(of content: Content?, at location: URL, headers: HTTPHeaders, statusCode: Int, fileName: String?) {
        let salt = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }.joined()
        self.salt = salt
        identity = content.map { Self.digest([$0.place, $0.user], salt: salt) } ?? ""
        self.location = Self.digest([location.contentText], salt: salt)
        self.fileName = fileName
        guard headers.hasIdentityCoding else { return }
        length = headers["Content-Length"].flatMap(Self.length)
        let units = headers["Accept-Ranges"]?.lowercased()
        guard content != nil, statusCode == 200, units != "none", let validator = StrongValidator(headers),
            validator.fieldValue.utf8.count <= Self.maximumTextSize
        else { return }
        // Variants may have one date, but never one tag.
        if case .date = validator, Self.varies(headers) { return }
        self.validator = validator.fieldValue
    }

    func isOf(_ content: Content) -> Bool { identity == Self.digest([content.place, content.user], salt: salt) }
    func isOf(_ location: URL) -> Bool { self.location == Self.digest([location.contentText], salt: salt) }

    private static func digest(_ texts: [String], salt: String) -> String {
        var digest = FieldDigest()
        digest.add(salt)
        for text in texts { digest.add(text) }
        return digest.hexadecimal()
    }

    /// Reads a length; one that does not fit is the largest, because libcurl then accepts any body up to the end of the
    /// connection.
    static func length(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
        return Int64(text) ?? .max
    }

    /// Whether the content depends on header fields of the request that are not the same for each download.
    private static func varies(_ headers: HTTPHeaders) -> Bool {
        headers.values(for: "Vary").joined(separator: ",").split(separator: ",")
            .map { $0.filter { !$0.isWhitespace }.lowercased() }
            .contains { !["", "accept-encoding", "origin"].contains($0) }
    }

    /// Reads a record, or returns `nil` if it is none, or its validator cannot be sent.
    init?(_ data: Data) {
        guard data.count <= Self.maximumSize, (try? JSONGuard.checkNesting(data)) != nil,
            let record = try? JSONDecoder().decode(DownloadRecord.self, from: data),
            record.version == Self.currentVersion, record.length ?? 0 >= 0,
            record.fileName.map(FileName.isSafe) ?? true,
            record.validator.map({ StrongValidator(fieldValue: $0) != nil }) ?? true
        else { return nil }
        self = record
    }

    /// Returns the number of bytes of a file that can be relied on.
    ///
    /// After a crash of the system, a file may have a length whose bytes were never written, so those from before are not used.
    func usableLength(of fileLength: Int64, boot: String?) -> Int64 {
        guard validator != nil, length.map({ fileLength <= $0 }) ?? true else { return 0 }
        return boot != nil && boot == self.boot ? fileLength : 0
    }
}

extension URL {
    /// What of the URL names a content: all but the fragment, and the signature, which is another one whenever the URL is signed.
    var contentText: String {
        let parts = absoluteString.prefix { $0 != "#" }.split(separator: "?", maxSplits: 1)
        guard parts.count == 2 else { return String(parts.first ?? "") }
        let pairs = parts[1].split(separator: "&")
        let signature = URLSignature(of: pairs)
        return "\(parts[0])?\(pairs.filter { !signature.changes($0) }.joined(separator: "&"))"
    }

    /// A digest of the URL without the parts that may contain a secret: whoever lists a folder reads the names in it.
    ///
    /// - Parameters:
    ///   - shownPath: The path, with its secrets masked.
    ///   - secrets: The names of secrets in the query.
    /// - Returns: Eight hexadecimal digits.
    func nameDigest(path shownPath: String, without secrets: Secrets) -> String {
        let all = (query() ?? "").split(separator: "&")
        let signature = URLSignature(of: all)
        let pairs = all.filter { pair in
            let value = pair.drop { $0 != "=" }.dropFirst().lowercased()
            let isNested = value.contains("=") || value.contains("%3d")
            return !isNested && !signature.changes(pair) && !secrets.isCredential(pair: pair)
        }
        let place = "\(host() ?? "")\(shownPath.prefix { $0 != ";" })?\(pairs.joined(separator: "&"))"
        return String(SHA256.hexadecimal(place.utf8).prefix(8))
    }
}
