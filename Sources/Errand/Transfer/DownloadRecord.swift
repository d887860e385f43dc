internal import Foundation

/// What is known of an unfinished download: the content of the file beside its bytes.
struct DownloadRecord: Codable, Sendable, Hashable {
    /// The version of the format; a record of another one is not used.
    var version = Self.currentVersion
    /// The method and the URL of the request, as ``place(_:masking:)``.
    var request: String
    /// The URL of the response, after redirects, as ``place(_:masking:)``.
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

    static let currentVersion = 1

    /// The maximum size of a record's file.
    static let maximumSize = 16 << 10
    /// The maximum size of a text in a record, which servers can influence.
    private static let maximumTextSize = 2 << 10

    /// Creates the record of a complete response, before its first byte.
    init(request: String, location: String, headers: HTTPHeaders, statusCode: Int, fileName: String?, boot: String?) {
        self.request = request
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

    /// Returns a URL without what is different in each URL of one content: secrets, and when a signature was made.
    ///
    /// A value that contains a secret, as a URL does, may name the content all the same: it is replaced by its digest. So is a
    /// path with secrets.
    static func place(_ url: URL, masking secrets: Secrets) -> String {
        let text = secrets.redacted(url)
        let mark = text.firstIndex(of: "?") ?? text.endIndex
        var place = String(text[..<mark])
        if place.contains(Secrets.mask) { place = "\(url.authority)/#\(SHA256.hexadecimal(url.path().utf8))" }
        guard mark < text.endIndex, let query = url.query() else { return place }
        let pairs = query.split(separator: "&").map { pair in
            let shown = secrets.redacted(pairs: String(pair))
            guard shown != pair, !secrets.isCredential(pair: pair) else { return shown[...] }
            return SHA256.hexadecimal(pair.utf8)[...]
        }
        func name(_ pair: Substring) -> String { pair.prefix { $0 != "=" }.lowercased() }
        let isSigned = pairs.contains { ["sig", "signature"].contains(name($0)) }
        let lasting = pairs.filter { pair in
            let name = name(pair)
            return !name.hasPrefix("x-amz-") && !name.hasPrefix("x-goog-")
                && !(isSigned && timesOfSignatures.contains(name))
        }
        return place + "?" + lasting.joined(separator: "&")
    }

    /// The names of what changes with a signature: of CloudFront, older ones of S3 and Google, and of Azure.
    private static let timesOfSignatures: Set<String> = [
        "awsaccesskeyid", "expires", "googleaccessid", "key-pair-id", "policy", "se", "ske", "skt", "st",
    ]

    /// Reads a record, or returns `nil` if it is none, one of another request, or one whose validator cannot be sent.
    init?(_ data: Data, of request: String) {
        guard data.count <= Self.maximumSize, (try? JSONGuard.checkNesting(data)) != nil,
            let record = try? JSONDecoder().decode(DownloadRecord.self, from: data),
            record.version == Self.currentVersion, record.request == request, record.synced >= 0,
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
