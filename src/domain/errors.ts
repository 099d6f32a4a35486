export function assertNever(value: never): never {
  throw new Error(`unreachable case: ${JSON.stringify(value)}`)
}

/** What an error means to the supervisor: restart, correct the files, or leave the directory alone. */
export type ErrorMeaning = 'failed' | 'badConfig' | 'stateInUse'

/** Its message alone states the problem and the remedy, so it is shown without a stack. */
export abstract class OperatorError extends Error {
  abstract readonly means: ErrorMeaning
}

export type StateFault = Pick<StateCorruptError, 'file' | 'detail' | 'remedy'>

/** Untrusted state on disk. The daemon stops: a journal is never repaired or replaced automatically. */
export class StateCorruptError extends OperatorError {
  override readonly name = 'StateCorruptError'
  readonly means = 'failed'
  readonly file: string
  readonly detail: string
  readonly remedy: string
  constructor(fault: StateFault) {
    super(`${fault.file}: ${fault.detail}. ${fault.remedy}`)
    this.file = fault.file
    this.detail = fault.detail
    this.remedy = fault.remedy
  }
}

/** A later version of this program wrote a file: nothing of it may be guessed. */
export class NewerFormatError extends OperatorError {
  override readonly name = 'NewerFormatError'
  readonly means = 'badConfig'
  constructor(file: string, what: string) {
    super(
      `${file}: ${what}, which this version of tranched does not know: a newer version wrote it. Install that version again; ` +
        'or go back with a backup from before the update: `tranched state restore BACKUP` says what it lacks',
    )
  }
}

/** The state directory belongs to another wallet, mode or chain. */
export class WrongStateError extends OperatorError {
  override readonly name = 'WrongStateError'
  readonly means = 'badConfig'
}

/** Another process holds the state directory (exit code 75). */
export class StateLockedError extends OperatorError {
  override readonly name = 'StateLockedError'
  readonly means = 'stateInUse'
}

/** A bug, or a journal that breaks the state table. Never caught to continue trading. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError'
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The `code` of an error of Node or a package. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}
