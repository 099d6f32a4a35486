/** Ends a switch over a tag: a missing case is a compile error, an impossible value a bug. */
export function assertNever(value: never): never {
  throw new Error(`unreachable case: ${JSON.stringify(value)}`)
}

/** State on disk that cannot be trusted. The daemon stops; it never repairs or replaces it by itself. */
export class StateCorruptError extends Error {
  override readonly name = 'StateCorruptError'
  readonly file: string
  readonly remedy: string
  constructor(fault: { file: string; detail: string; remedy: string }) {
    super(`${fault.file}: ${fault.detail}. ${fault.remedy}`)
    this.file = fault.file
    this.remedy = fault.remedy
  }
}

/** Another process holds the state directory (exit code 75). */
export class StateLockedError extends Error {
  override readonly name = 'StateLockedError'
}

/** A bug or a journal that breaks the state table. Never caught to go on trading. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError'
}
