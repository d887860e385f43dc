internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

extension SessionExchange {
    /// An outcome, to be delivered outside the lock.
    ///
    /// A class, because an Optional of such a large struct is copied through its metadata.
    final class Ready {
        let result: Result<TransportResponse, any Error>
        /// The body that is still being received, with its beginning; `nil` if it is complete.
        let stream: (chunks: SpillingChunks, beginning: Data)?

        init(
            _ result: Result<TransportResponse, any Error>,
            stream: (chunks: SpillingChunks, beginning: Data)? = nil
        ) { (self.result, self.stream) = (result, stream) }
    }

    /// Returns the error if what has arrived of the body exceeds a limit, or `nil`.
    func rejection(_ state: State, isFirstChunk: Bool) -> NetworkError? {
        let (headerSection, byteCount) = (state.headerSection, state.byteCount)
        // With the first byte of the content the header section is final, and a HEAD, 204 or 304 has none. Of an error response,
        // the beginning is received.
        let isError = headerSection.map { $0.statusCode / 100 != 2 } ?? false
        let hasBeginning = state.stream == nil && byteCount >= NetworkError.maximumBodyByteCount
        let isDue = isError ? hasBeginning : isFirstChunk
        if byteCount > options.maximumBodySize || isDue && headerSection?.exceeds(options.maximumBodySize) == true {
            return NetworkError(.bodyTooLarge(limit: options.maximumBodySize))
        }
        if byteCount > TransportOptions.expansionFloor, let wireCount = headerSection?.codedByteCount,
            byteCount / max(1, wireCount) >= options.maximumExpansion
        {
            return NetworkError(.decompressionRatio(limit: options.maximumExpansion))
        }
        return nil
    }

    /// Returns the error for a header section that exceeds the limit, or `nil`.
    func rejection(of headers: HTTPHeaders) -> NetworkError? {
        guard options.maximumHeaderSize < TransportOptions.greatestHeaderSectionSize else { return nil }
        let size = headers.reduce(0) { $0 &+ $1.name.utf8.count &+ $1.value.utf8.count }
        return size <= options.maximumHeaderSize ? nil : NetworkError(.headerSectionTooLarge)
    }

    /// Returns the response with a body, unless its header section is missing or exceeds the limit.
    func response(_ state: State, _ body: ResponseBody) -> Result<TransportResponse, any Error> {
        guard let headerSection = state.headerSection else { return .failure(NetworkError(.closedWithoutResponse)) }
        let headers = HTTPHeaders(reading: { headerSection.fields })
        if let rejection = rejection(of: headers) { return .failure(rejection) }
        return .success(
            TransportResponse(
                statusCode: headerSection.statusCode,
                headers: headers,
                body: body,
                timings: state.times
            )
        )
    }

    /// Returns the outcome of an exchange that has failed: if only its content has, it is the response with what there is of it.
    func failed(_ state: State, with failure: any Error, adding data: Data = Data()) -> Ready {
        guard (failure as? NetworkError)?.reason.isOfContent == true, state.headerSection?.statusCode ?? 0 >= 200 else {
            return Ready(.failure(failure))
        }
        let beginning = state.body.prefix(NetworkError.maximumBodyByteCount) + data
        return Ready(response(state, ResponseBody(beginning, failing: failure, upTo: options.maximumBodySize)))
    }

    /// Returns the error of an exchange that has ended, or `nil` if it has succeeded.
    func failure(of error: (any Error)?, _ state: State) -> (any Error)? {
        if let rejection = state.rejection { return rejection }
        guard let error else {
            return state.headerSection?.hasMalformedLength == true ? NetworkError(.invalidContentLength) : nil
        }
        if state.isComplete, state.headerSection != nil { return nil }
        let hasHeader = state.headerSection != nil
        let coding = state.headerSection?.value(forHTTPHeaderField: "Content-Encoding")
        return SessionFailure.classify(error, idleTimeout: options.idleTimeout, hasHeader: hasHeader, coding: coding)
    }
}

extension SessionExchange.State {
    /// Whether the response is complete by its header section, although its request may still be being sent.
    var isAnswered: Bool {
        guard let headerSection, headerSection.statusCode / 100 != 1 else { return false }
        if [204, 304].contains(headerSection.statusCode) { return true }
        return 0...Int64(byteCount) ~= headerSection.expectedContentLength
            && headerSection.value(forHTTPHeaderField: "Content-Encoding") == nil
    }
}

extension HTTPURLResponse {
    /// Whether the `Content-Length` is not a number (RFC 9110, section 8.6): libcurl reads a prefix that is one, and truncates
    /// the body after `0` for `0x10`.
    var hasMalformedLength: Bool {
        // Nearly every response has a length that Foundation has read, and needs no lookup.
        guard expectedContentLength < 0, let text = value(forHTTPHeaderField: "Content-Length") else { return false }
        return !text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { part in
            let digits = part.trimmingCharacters(in: .whitespaces)
            return !digits.isEmpty && digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
    }

    /// Whether the `Content-Length` of a body without a `Content-Encoding` is larger than a limit.
    fileprivate func exceeds(_ limit: Int) -> Bool {
        expectedContentLength > Int64(limit) && value(forHTTPHeaderField: "Content-Encoding") == nil
    }

    /// The `Content-Length` of a body with a `Content-Encoding`, or `nil` if either is missing.
    fileprivate var codedByteCount: Int? {
        guard value(forHTTPHeaderField: "Content-Encoding") != nil else { return nil }
        return value(forHTTPHeaderField: "Content-Length").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    }
}

extension HTTPURLResponse {
    /// The header fields.
    ///
    /// URLSession does not preserve their order, and joins lines of one name; names that differ only in case are separate.
    /// They are sorted by name so that equal header sections are equal lists. Cookies are split again into one line each,
    /// because `Set-Cookie` is no list (RFC 9110, section 5.3).
    var fields: [HTTPHeaders.Field] {
        let fields = allHeaderFields.compactMap { name, value -> HTTPHeaders.Field? in
            guard let name = name.base as? String, let value = value as? String else { return nil }
            return HTTPHeaders.Field(name: name, value: value)
        }.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        func isCookie(_ field: HTTPHeaders.Field) -> Bool { field.name.isSameFieldName(as: "Set-Cookie") }
        guard fields.contains(where: isCookie) else { return fields }
        return fields.flatMap { field in
            guard isCookie(field) else { return [field] }
            return FieldList.cookies.values(of: field.value).map { HTTPHeaders.Field(name: field.name, value: $0) }
        }
    }
}
