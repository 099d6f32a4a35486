import type { Problem } from '../../config/yaml/problem.ts'
import { EXIT, type ExitCode, type Io } from './io.ts'

/**
 * Ends a command that cannot do what it was asked, once everything that it holds is released. `reportError` prints it: as text for
 * a person, or as data under --json.
 */
export class Refusal extends Error {
  override readonly name: string = 'Refusal'
  readonly code: ExitCode
  /** Command that precedes the message for a person. */
  readonly by: string | undefined
  /** Mistakes in the operator's files, which a person sees instead of the message. */
  readonly problems: readonly Problem[]
  /** Further fields under --json. */
  readonly data: object
  /** A person has been told already. */
  readonly isKnown: boolean

  constructor(
    message: string,
    more: Partial<Pick<Refusal, 'code' | 'by' | 'problems' | 'data' | 'isKnown'>> = {},
  ) {
    super(message)
    this.code = more.code ?? EXIT.failed
    this.by = more.by
    this.problems = more.problems ?? []
    this.data = more.data ?? {}
    this.isKnown = more.isKnown ?? false
  }
}

/** A command line that asks for something impossible. */
export function misused(message: string, by?: string): Refusal {
  return new Refusal(message, { by, code: EXIT.usage })
}

export function refusalOf(problems: readonly Problem[], code: ExitCode = EXIT.badConfig): Refusal {
  const message = 'the config or strategy files are not valid: see problems'
  return new Refusal(message, { problems, code })
}

type Failed =
  | { readonly ok: false; readonly problems: readonly Problem[] }
  | { readonly ok: false; readonly problem: Problem }

/** A result that is sound. Throws a Refusal with the problems of one that is not. */
export function orRefuse<Result extends { readonly ok: true } | Failed>(
  result: Result,
): Extract<Result, { readonly ok: true }> {
  if (result.ok) return result as Extract<Result, { readonly ok: true }>
  throw refusalOf('problem' in result ? [result.problem] : result.problems)
}

/** Asks unless `--yes` was given; without a person the answer is no. Throws a Refusal unless it is yes. */
export async function confirm(
  question: string,
  { options, io }: { readonly options: { readonly yes?: boolean }; readonly io: Io },
): Promise<void> {
  if (options.yes === true) return
  const answer = await io.confirm(question)
  if (answer === true) return
  io.stderr.write(
    answer === undefined
      ? 'there is no terminal to ask on: repeat the command with --yes\n'
      : 'nothing was changed\n',
  )
  throw unwanted()
}

/** Ends a command that was not confirmed, and has said so. */
export function unwanted(): Refusal {
  const message = 'nothing was changed: answer yes, or give --yes'
  return new Refusal(message, { code: EXIT.usage, isKnown: true })
}
