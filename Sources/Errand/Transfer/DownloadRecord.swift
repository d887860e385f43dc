internal import Foundation

/// What is known of an unfinished download: the content of the file beside its bytes.
struct DownloadRecord: Codable, Sendable, Hashable {
    /// The version of the format; a record of another one is not used.
    var version = Self.currentVersion
    /// The method, the origin and the path of the request.
    var request: String
    /// A random text that all digests of secrets contain.
    var salt: String
    /// A digest of ``DownloadIdentity/user``.
    var user: String
    /// A digest of the credential scopes of hooks, and of the credentials that those without one added to the request.
    var added: String
    /// The URL of the response, after redirects, as ``location(_:without:salt:)``.
    var location: String
    /// The value for `If-Range`: a strong entity tag or date, or `nil` if the rest cannot be requested alone.
    var validator: String?
    /// The complete length, or `nil` if the server did not declare it.
    var length: Int64?
    /// The name that the file gets in the folder that it is downloaded to, or `nil` if the caller named the file.
    var fileName: String?
    /// The number of bytes that the disk has confirmed, so that they survive a crash of the system.
    var synced: Int64 = 0
    /// The boot of the system in which the bytes were written, or `nil` if it is not known.
    var boot: String?
    /// The state of the SHA-256 of the bytes when the file was closed, or `nil` if it was not computed.
    var digest: Data?
    /// What shows that ``digest`` is that of the file as it is, or `nil` if there is none.
    var seal: String?

    static let currentVersion = 2

    /// The maximum size of a record's file.
    static let maximumSize = 16 << 10
    /// The maximum size of a text in a record, which servers can influence.
    private static let maximumTextSize = 2 << 10

    /// Creates the record of a complete response, before its first byte.
    init(
        of identity: DownloadIdentity,
        adding added: [String] = [],
        location: String,
        headers: HTTPHeaders,
        statusCode: Int,
        fileName: String?,
        boot: String?,
        salt: String = Self.randomSalt()
    ) {
        request = identity.request
        self.salt = salt
        user = DownloadIdentity.digest(identity.user, salt: salt)
        self.added = DownloadIdentity.digest(added, salt: salt)
        self.location = location
        self.fileName = fileName
        self.boot = boot
        guard headers.hasIdentityCoding else { return }
        length = headers["Content-Length"].flatMap(Self.length)
        let units = headers["Accept-Ranges"]?.lowercased()
        guard statusCode == 200, units != "none", location.utf8.count <= Self.maximumTextSize,
            let validator = StrongValidator(headers), validator.fieldValue.utf8.count <= Self.maximumTextSize
        else { return }
        // Variants may have one date, but never one tag.
        if case .date = validator, Self.varies(headers) { return }
        self.validator = validator.fieldValue
    }

    static func randomSalt() -> String {
        (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }.joined()
    }

    /// Reads a length; one that does not fit is the largest, because libcurl then accepts any body up to the end of the
    /// connection.
    private static func length(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
        return Int64(text) ?? .max
    }

    /// Whether the content depends on header fields of the request that are not the same for each download.
    private static func varies(_ headers: HTTPHeaders) -> Bool {
        headers.values(for: "Vary").joined(separator: ",").split(separator: ",")
            .map { $0.filter { !$0.isWhitespace }.lowercased() }
            .contains { !["", "accept-encoding", "origin"].contains($0) }
    }

    /// Returns the pairs of the query that are equal in each URL of one content: without those of a signature, and of credentials
    /// only the names.
    static func lastingPairs(of url: URL, without secrets: Secrets) -> [String] {
        let pairs = (url.query() ?? "").split(separator: "&")
        let signature = URLSignature(of: pairs)
        return pairs.filter { !signature.changes($0) }
            .map { String(secrets.isCredential(pair: $0) ? $0.prefix { $0 != "=" } : $0) }
    }

    /// Returns the origin and the path of a URL, and a salted digest of its query.
    static func location(_ url: URL, without secrets: Secrets, salt: String) -> String {
        let digest = DownloadIdentity.digest(lastingPairs(of: url, without: secrets), salt: salt)
        return "\(url.shownOrigin)\(url.path())?\(digest)"
    }

    /// Whether the request of the bytes had the same scopes of hooks, and the same credentials of those without one.
    func isOf(adding added: [String]) -> Bool { self.added == DownloadIdentity.digest(added, salt: salt) }

    /// Reads a record, or returns `nil` if it is none, one of another request or user, or one whose validator cannot be sent.
    init?(_ data: Data, of identity: DownloadIdentity) {
        guard data.count <= Self.maximumSize, (try? JSONGuard.checkNesting(data)) != nil,
            let record = try? JSONDecoder().decode(DownloadRecord.self, from: data),
            record.version == Self.currentVersion, record.request == identity.request, record.synced >= 0,
            record.salt.utf8.count <= 64, record.user == DownloadIdentity.digest(identity.user, salt: record.salt),
            record.length ?? 0 >= 0, record.fileName.map(FileName.isSafe) ?? true,
            record.validator.map({ StrongValidator(fieldValue: $0) != nil }) ?? true
        else { return nil }
        self = record
    }

    /// Returns the number of bytes of a file that can be relied on.
    ///
    /// After a crash of the system, a file may have a length whose bytes were never written.
    func usableLength(of fileLength: Int64, boot: String?) -> Int64 {
        guard validator != nil, length.map({ fileLength <= $0 }) ?? true else { return 0 }
        return boot != nil && boot == self.boot ? fileLength : min(fileLength, synced)
    }
}

/// The signature of a URL, whose pairs are others whenever the URL is signed, and name no content.
///
/// Only whole schemes count: names such as `policy` and `sig` alone may name the content, or its user.
struct URLSignature {
    private let names: Set<String>

    /// - Parameter pairs: The pairs of the query.
    init(of pairs: [Substring]) {
        let all = Set(pairs.map(Self.name))
        let schemes = Self.schemes.filter { $0.required.isSubset(of: all) }
        names = Set(schemes.flatMap { $0.required.union($0.changing) }).subtracting(["sv"])
    }

    /// Whether a pair of the query changes with the signature.
    func changes(_ pair: Substring) -> Bool {
        let name = Self.name(pair)
        return names.contains(name) || Self.prefixes.contains { name.hasPrefix($0) && names.contains($0 + "signature") }
    }

    private static func name(_ pair: Substring) -> String { pair.prefix { $0 != "=" }.lowercased() }

    /// The beginnings of the names of the signatures with version 4 of S3 and Google.
    private static let prefixes = ["x-amz-", "x-goog-"]

    /// Those of S3 and Google, their older ones, which others have too, and those of CloudFront and Azure.
    private static let schemes: [(required: Set<String>, changing: Set<String>)] = [
        (["x-amz-signature"], []), (["x-goog-signature"], []),
        (["awsaccesskeyid", "expires", "signature"], []), (["googleaccessid", "expires", "signature"], []),
        (["ossaccesskeyid", "expires", "signature"], []),
        (["key-pair-id", "signature"], ["expires", "policy"]), (["sv", "sig"], ["se", "ske", "skt", "st"]),
    ]
}
