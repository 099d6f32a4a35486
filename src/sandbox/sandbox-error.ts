import { OperatorError } from '../domain/errors.ts'

/** The sandbox cannot start, continue or keep its files. */
export class SandboxError extends OperatorError {
  override readonly name = 'SandboxError'
  readonly means = 'failed'
}
