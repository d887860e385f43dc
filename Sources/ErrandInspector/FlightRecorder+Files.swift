internal import Dispatch
internal import Errand
public import Foundation

extension FlightRecorder {
    /// When a recorder writes a file by itself.
    public enum Occasion: Sendable, Hashable {
        /// After each failed send, in the background; failures that follow one another closely have one write.
        case failure
        /// When the process exits by `exit` or by returning from its main function.
        case exit
    }

    /// Writes what was recorded as HAR; the file is replaced at once, and only its owner may read it.
    ///
    /// - Parameter file: The file.
    /// - Throws: The error of the file system.
    public func write(to file: URL) throws { try Self.write(har(), to: file) }

    /// Writes ``waterfall()``; the file is replaced at once, and only its owner may read it.
    ///
    /// - Parameter file: The file.
    /// - Throws: The error of the file system.
    public func writeWaterfall(to file: URL) throws { try Self.write(Data(waterfall().utf8), to: file) }

    /// Writes what was recorded as HAR, from now on, on an occasion; a file that cannot be written is left as it is.
    ///
    /// - Parameters:
    ///   - file: The file, or `nil` to stop writing on that occasion.
    ///   - occasion: When it is written.
    public func writes(to file: URL?, on occasion: Occasion) {
        RecordersAtExit.set(self, isNeeded: files.set(file, on: occasion))
    }

    /// Writes to another file first, which nobody else may read, and which then takes the place of this one.
    private static func write(_ data: Data, to file: URL) throws {
        let other = file.appendingPathExtension("\(UUID().uuidString).new").path(percentEncoded: false)
        let descriptor = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        do {
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try handle.write(contentsOf: data)
            try handle.close()
            guard rename(other, file.path(percentEncoded: false)) == 0 else {
                throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            }
        } catch {
            unlink(other)
            throw error
        }
    }
}

/// The files that a recorder writes by itself; its recorder has it, and passes itself.
final class RecorderFiles: Sendable {
    private struct State {
        var failure: URL?
        var exit: URL?
        /// Whether a failure waits for its write.
        var hasFailed = false
    }

    private let state = Lock(State())
    private let queue = DispatchQueue(label: "errand.flight-recorder")

    /// Sets a file, and returns whether there is one for any occasion.
    func set(_ file: URL?, on occasion: FlightRecorder.Occasion) -> Bool {
        state.withLock { state in
            switch occasion {
            case .failure: state.failure = file
            case .exit: state.exit = file
            }
            return state.failure != nil || state.exit != nil
        }
    }

    /// Writes in the background; several failures until then have one write.
    func didFail(_ recorder: FlightRecorder) {
        let isFirst = state.withLock { state in
            guard state.failure != nil, !state.hasFailed else { return false }
            state.hasFailed = true
            return true
        }
        if isFirst { queue.async { self.writeFailure(recorder) } }
    }

    private func writeFailure(_ recorder: FlightRecorder) {
        let file = state.withLock { state in
            defer { state.hasFailed = false }
            return state.hasFailed ? state.failure : nil
        }
        if let file { try? recorder.write(to: file) }  // Whoever waits for this file finds the one before, or none.
    }

    /// Writes what the process would lose with its exit.
    func finish(_ recorder: FlightRecorder) {
        queue.sync { writeFailure(recorder) }
        // Nobody is there any more to read an error.
        if let file = state.withLock({ $0.exit }) { try? recorder.write(to: file) }
    }
}

/// The recorders that write files, which they finish when the process exits.
private enum RecordersAtExit {
    private static let recorders = Lock<[ObjectIdentifier: FlightRecorder]>([:])
    private static let registration: Void = {
        atexit {
            for recorder in RecordersAtExit.recorders.withLock({ $0 }).values { recorder.files.finish(recorder) }
        }
    }()

    static func set(_ recorder: FlightRecorder, isNeeded: Bool) {
        recorders.withLock { $0[ObjectIdentifier(recorder)] = isNeeded ? recorder : nil }
        registration
    }
}
