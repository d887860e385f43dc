internal import Foundation

/// What stands around the data of an answer, found in the same pass as the data.
///
/// ``Payload/envelope`` has it where a filter opened one; its values are read when they are asked for.
public struct Envelope: Sendable {
    /// Shared, so that a payload stays small.
    private final class Storage: Sendable {
        let response: RawResponse
        let ranges: [Range<Int>?]
        let members: EnvelopeMembers

        init(response: RawResponse, ranges: [Range<Int>?], members: EnvelopeMembers) {
            self.response = response
            self.ranges = ranges
            self.members = members
        }
    }

    private let storage: Storage

    init(response: RawResponse, ranges: [Range<Int>?], members: EnvelopeMembers) {
        storage = Storage(response: response, ranges: ranges, members: members)
    }

    /// The service's code; `nil` when there is none, or it is neither a number, a string nor a Bool.
    public var code: ServiceCode? {
        smallInteger(storage.members.code).map(ServiceCode.integer)
            ?? value(storage.members.code).flatMap(ServiceCode.init)
    }

    /// The service's words; `nil` when there are none, or they are no string.
    public var message: String? { value(storage.members.message)?.string }

    /// The service's time as it is written, a number or a string; `nil` when there is none.
    public var time: JSONValue? { value(storage.members.time) }

    /// A further member that the filter was told to collect; `nil` when there is none.
    ///
    /// A model of it is `try envelope["page"]?.decode(Page.self)`.
    ///
    /// - Parameter name: The key in ``EnvelopeFilter/others``.
    public subscript(name: String) -> JSONValue? { value(storage.members.others[name]) }

    /// The answer that it stands in.
    var response: RawResponse { storage.response }

    /// The value of a part, `nil` when there is none; its path may lead nowhere in an answer of another kind.
    func value(_ place: EnvelopeMembers.Place?) -> JSONValue? {
        guard let place, let part = try? part(place) else { return nil }
        return part.data.validatedJSON
    }

    /// A part that is a few digits, as codes are, without the detour over a tree; `nil` for any other.
    private func smallInteger(_ place: EnvelopeMembers.Place?) -> Int? {
        guard let place, place.rest == nil, let slot = place.slot, let range = storage.ranges[slot], range.count <= 18
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

    /// A part as a view on the body; `nil` when it is absent, or a member on the way is absent or null.
    ///
    /// - Throws: ``NetworkError`` when a step leads into a value of another type, or into a string that is not JSON.
    func part(_ place: EnvelopeMembers.Place) throws -> Payload? {
        let body = response.body
        var range = 0..<body.count
        if let slot = place.slot {
            guard let found = storage.ranges[slot] else { return nil }
            range = found
        }
        guard let rest = place.rest else { return Payload(slice(range), of: body) }
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
    /// A part of a body that has been validated.
    init(_ data: Data, of body: Data) { self.init(data, root: body, contentType: nil, isGuarded: true) }

    /// The payload of an answer that has none; the body must have been validated.
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
