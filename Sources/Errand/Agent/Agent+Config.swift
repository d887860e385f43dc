extension Agent {
    /// Changes the config atomically, so that no change by another task is lost.
    ///
    /// ```swift
    /// agent.updateConfig { $0.headers["Accept-Language"] = "fr" }
    /// ```
    ///
    /// The closure runs without a lock held, so it may use the agent. If another change comes first, it runs again on
    /// the result of that change; it must have no effect besides its changes to the config. Like ``config``, the result
    /// applies to sends that start from now on.
    ///
    /// - Parameter change: A closure that changes the config in place. If it throws, the config is not changed.
    /// - Returns: The result of the closure's last run.
    /// - Throws: The error of the closure.
    @discardableResult
    public func updateConfig<Result>(_ change: (inout NetworkConfig) throws -> Result) rethrows -> Result {
        while true {
            let old = currentConfig
            var value = old.value
            let result = try change(&value)
            if replaceConfig(old, with: ConfigSnapshot(value)) { return result }
        }
    }
}
