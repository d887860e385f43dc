internal import Foundation

/// What is known of an unfinished download: the content of the file beside its bytes.
struct DownloadRecord: Codable, Sendable, Hashable {
    /// The version of the format; a record of another one is not used.
    var version = Self.currentVersion
    /// The method and the URL of the request, with secrets masked.
    var request: String
    /// The origin and the path of the response, after redirects.
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
    /// The state of the SHA-256 of the first bytes, or `nil` if it is not computed.
    var digest: Data?

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
        length = headers["Content-Length"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
        let units = headers["Accept-Ranges"]?.lowercased()
        guard statusCode == 200, units != "none", location.utf8.count <= Self.maximumTextSize,
            let validator = StrongValidator(headers)?.fieldValue, validator.utf8.count <= Self.maximumTextSize
        else { return }
        self.validator = validator
    }

    /// Reads a record, or returns `nil` if it is none, or one of another request.
    init?(_ data: Data, of request: String) {
        guard data.count <= Self.maximumSize, let record = try? JSONDecoder().decode(DownloadRecord.self, from: data),
            record.version == Self.currentVersion, record.request == request, record.synced >= 0,
            record.length ?? 0 >= 0
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
