internal import Foundation

/// The members around the data of a response, which are found in the same pass as the data.
///
/// ``Payload/envelope`` contains it if a filter unwrapped one. Its values are parsed on access.
public struct Envelope: Sendable {
    /// Shared, so that a payload stays small.
    private final class Storage: Sendable {
        let response: RawResponse
        let places: [(word: Int, range: Range<Int>)?]
        let members: EnvelopeMembers

        init(response: RawResponse, places: [(word: Int, range: Range<Int>)?], members: EnvelopeMembers) {
            self.response = response
            self.places = places
            self.members = members
        }
    }

    private let storage: Storage

    /// - Parameters:
    ///   - response: The response, whose body is validated.
    ///   - places: The word in its index and the range of each value, by slot.
    ///   - members: The paths.
    init(response: RawResponse, places: [(word: Int, range: Range<Int>)?], members: EnvelopeMembers) {
        storage = Storage(response: response, places: places, members: members)
    }

    /// The service's code, or `nil` if there is none or it is not a number, a string or a Bool.
    public var code: ServiceCode? {
        smallInteger(storage.members.code).map(ServiceCode.integer)
            ?? value(storage.members.code).flatMap(ServiceCode.init)
    }

    /// The service's message, or `nil` if there is none or it is not a string.
    public var message: String? { value(storage.members.message)?.string }

    /// The service's time as written, a number or a string, or `nil` if there is none.
    public var time: JSONValue? { value(storage.members.time) }

    /// The further member of a name in ``EnvelopeFilter/others``, or `nil` if there is none.
    ///
    /// To decode it as a model, write `try envelope["page"]?.decode(Page.self)`.
    ///
    /// - Parameter name: The key in ``EnvelopeFilter/others``.
    public subscript(name: String) -> JSONValue? { value(storage.members.others[name]) }

    /// The path of the data.
    var dataPath: JSONPath { storage.members.dataPath }

    /// The response that contains the envelope.
    var response: RawResponse { storage.response }

    /// Returns the value of a member, or `nil` if there is none; its path may not exist in a response of another kind.
    func value(_ place: EnvelopeMembers.Place?) -> JSONValue? {
        guard let place, let part = try? part(place) else { return nil }
        return part.data.validatedJSON
    }

    /// Returns a member that is a few digits, such as a code, without parsing a tree, or `nil` for any other.
    private func smallInteger(_ place: EnvelopeMembers.Place?) -> Int? {
        guard let place, place.rest == nil, let slot = place.slot, let range = storage.places[slot]?.range,
            range.count <= 9
        else { return nil }
        return response.body.withUnsafeBytes { bytes in
            var value = 0
            for byte in bytes[range] {
                guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
                value = value * 10 + Int(byte - UInt8(ascii: "0"))
            }
            return value
        }
    }

    /// Returns a member as a view on the body, or `nil` if it or a member on the path is absent or null.
    ///
    /// - Throws: ``NetworkError`` if a step leads into a value of another type, or into a string that is not JSON.
    func part(_ place: EnvelopeMembers.Place) throws -> Payload? {
        let body = response.body
        var (word, range) = (0, 0..<body.count)
        if let slot = place.slot {
            guard let found = storage.places[slot] else { return nil }
            (word, range) = found
        }
        guard let rest = place.rest else {
            var payload = Payload(slice(range), of: body)
            payload.indexed = response.indexed.map { ($0, word) }
            return payload
        }
        do {
            let match = body.withUnsafeBytes { bytes in
                Result { () throws(JSONError) in try rest.optionalRange(in: bytes, payload: range) }
            }
            switch try match.get() {
            case nil: return nil
            case .range(let range): return Payload(slice(range), of: body)
            case .assembled(let bytes): return Payload(Data(bytes), of: body)
            }
        } catch {
            throw NetworkError(error.isAboutPath ? .path(error) : .invalidJSON(error), underlying: error)
        }
    }

    private func slice(_ range: Range<Int>) -> Data {
        let start = response.body.startIndex
        return response.body[start + range.lowerBound..<start + range.upperBound]
    }
}

extension Payload {
    /// Creates a payload from the complete body.
    init(of response: RawResponse) {
        self.init(response.body, root: response.body, contentType: nil, isGuarded: response.isGuarded)
        indexed = response.indexed.map { ($0, 0) }
    }

    /// Creates a payload from a part of a validated body.
    init(_ data: Data, of body: Data) { self.init(data, root: body, contentType: nil, isGuarded: true) }

    /// Returns the payload of a response that has none; the body must have been validated.
    static func null(in body: Data) -> Payload { Payload(nullText, of: body.isEmpty ? nullText : body) }

    /// The payload of a response without content.
    static let absent: Payload = {
        var payload = null(in: Data())
        payload.isAbsent = true
        return payload
    }()

    static let nullText = Data("null".utf8)

    /// Whether this is a JSON null.
    var isNull: Bool { data.count == 4 && data.elementsEqual(Self.nullText) }
}
