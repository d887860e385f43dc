public import Foundation

/// A form of several parts, such as fields and files (`multipart/form-data`, RFC 7578).
///
/// A form is assembled while it is sent: files are read from disk, so its size is not limited by memory, and its length is
/// known beforehand unless the length of a source is unknown.
///
/// ```swift
/// var form = MultipartForm()
/// form.append("Ada", name: "author")
/// try form.append(file: URL(filePath: "photo.jpg"), name: "photo")
/// ```
///
/// Names and file names are sent as the HTML standard requires: as UTF-8, with `"`, CR and LF escaped as `%22`, `%0D` and
/// `%0A`. Parts keep their order, and names may repeat.
public struct MultipartForm: Sendable {
    /// The content of a part.
    enum Content: Sendable {
        case data(Data)
        case file(URL)
        case source(any BodySource)
        indirect case form(MultipartForm)
    }

    struct Part: Sendable {
        var name: String
        var fileName: String?
        /// The media type, or `nil` for none.
        var contentType: String?
        /// Fields in addition to the form's own, or in their place.
        var headers: HTTPHeaders
        var content: Content
    }

    private(set) var parts: [Part] = []

    /// Creates a form without parts.
    public init() {}

    /// The number of parts; a nested form counts as one.
    public var count: Int { parts.count }

    /// Appends a field of text, which is sent as UTF-8 and without a media type.
    ///
    /// - Parameters:
    ///   - text: The value.
    ///   - name: The name of the field.
    ///   - headers: Further header fields, which replace the form's own. They are validated when the request is built.
    public mutating func append(_ text: String, name: String, headers: HTTPHeaders = [:]) {
        parts.append(Part(name: name, headers: headers, content: .data(Data(text.utf8))))
    }

    /// Appends bytes.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - name: The name of the field.
    ///   - fileName: The file name, or `nil` if the part is not a file.
    ///   - contentType: The media type; `nil` means the type for the file name's extension, or else `application/octet-stream`.
    ///   - headers: Further header fields, which replace the form's own. They are validated when the request is built.
    public mutating func append(
        _ data: Data,
        name: String,
        fileName: String? = nil,
        contentType: String? = nil,
        headers: HTTPHeaders = [:]
    ) { append(.data(data), name, fileName, contentType, headers) }

    /// Appends a file, which is read while it is sent.
    ///
    /// The file that is sent is the one that exists when the request is built. If it changes afterward, the send fails
    /// with ``NetworkError/Reason/bodyUnreadable(_:)``.
    ///
    /// - Parameters:
    ///   - url: The URL of the file.
    ///   - name: The name of the field.
    ///   - fileName: The file name to send; `nil` means the URL's.
    ///   - contentType: The media type; `nil` means the type for the file name's extension, or else `application/octet-stream`.
    ///   - headers: Further header fields, which replace the form's own. They are validated when the request is built.
    /// - Throws: ``NetworkError`` with ``NetworkError/Reason/fileUnusable(_:)`` if there is no file to read.
    public mutating func append(
        file url: URL,
        name: String,
        fileName: String? = nil,
        contentType: String? = nil,
        headers: HTTPHeaders = [:]
    ) throws {
        _ = try FileSource(url)
        append(.file(url), name, fileName ?? url.lastPathComponent, contentType, headers)
    }

    /// Appends bytes that are supplied while they are sent.
    ///
    /// - Parameters:
    ///   - source: The source. If its length is not known, the form's length isn't either, and it is sent in chunks. If the
    ///     source can be read only once, so can the form.
    ///   - name: The name of the field.
    ///   - fileName: The file name, or `nil` if the part is not a file.
    ///   - contentType: The media type; `nil` means the type for the file name's extension, or else `application/octet-stream`.
    ///   - headers: Further header fields, which replace the form's own. They are validated when the request is built.
    public mutating func append(
        source: any BodySource,
        name: String,
        fileName: String? = nil,
        contentType: String? = nil,
        headers: HTTPHeaders = [:]
    ) { append(.source(source), name, fileName, contentType, headers) }

    /// Appends a form as one part of type `multipart/mixed`.
    ///
    /// RFC 7578, section 4.3, deprecates this for several files of one field: append them under the same name instead,
    /// unless the server requires it. Parts of the nested form have the disposition `attachment`, without a name if it is
    /// empty.
    ///
    /// - Parameters:
    ///   - form: The nested form.
    ///   - name: The name of the field.
    ///   - headers: Further header fields, which replace the form's own except its `Content-Type`.
    public mutating func append(_ form: MultipartForm, name: String, headers: HTTPHeaders = [:]) {
        parts.append(Part(name: name, headers: headers, content: .form(form)))
    }

    private mutating func append(
        _ content: Content,
        _ name: String,
        _ fileName: String?,
        _ contentType: String?,
        _ headers: HTTPHeaders
    ) {
        let guess = fileName.flatMap { name in
            name.lastIndex(of: ".").flatMap { MediaType(forFileExtension: name[$0...].dropFirst()) }
        }
        let type = contentType ?? guess?.description ?? "application/octet-stream"
        parts.append(Part(name: name, fileName: fileName, contentType: type, headers: headers, content: content))
    }
}
