/** Ends a switch over a tag: a missing case is a compile error, an impossible value a bug. */
export function assertNever(value: never): never {
  throw new Error(`unreachable case: ${JSON.stringify(value)}`)
}

/** What an error means to whoever supervises the process: try again, correct the files, or leave the directory alone. */
export type ErrorMeaning = 'failed' | 'badConfig' | 'stateInUse'

/** An error whose text alone says what is wrong and what to do: it is shown without a stack. */
export abstract class OperatorError extends Error {
  abstract readonly means: ErrorMeaning
}

/** State on disk that cannot be trusted. The daemon stops: a journal is never repaired or replaced by itself. */
export class StateCorruptError extends OperatorError {
  override readonly name = 'StateCorruptError'
  readonly means = 'failed'
  readonly file: string
  readonly detail: string
  readonly remedy: string
  constructor(fault: { file: string; detail: string; remedy: string }) {
    super(`${fault.file}: ${fault.detail}. ${fault.remedy}`)
    this.file = fault.file
    this.detail = fault.detail
    this.remedy = fault.remedy
  }
}

/** The wallet, the mode or the chain is not the one that the state directory belongs to. */
export class WrongStateError extends OperatorError {
  override readonly name = 'WrongStateError'
  readonly means = 'badConfig'
}

/** Another process holds the state directory (exit code 75). */
export class StateLockedError extends OperatorError {
  override readonly name = 'StateLockedError'
  readonly means = 'stateInUse'
}

/** A bug or a journal that breaks the state table. Never caught to go on trading. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError'
}
