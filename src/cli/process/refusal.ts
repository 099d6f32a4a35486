import type { Problem } from '../../config/yaml/problem.ts'
import { EXIT, type ExitCode, type Io } from './io.ts'

/**
 * Ends a command that cannot do what was requested, once it has released everything it holds. `reportError` prints it: as
 * text for a person, or as data under --json.
 */
export class Refusal extends Error {
  override readonly name: string = 'Refusal'
  readonly code: ExitCode
  /** Text for a person; empty if everything was already printed. */
  readonly text: string
  /** Problems in the operator's files, shown to a person instead of the message. */
  readonly problems: readonly Problem[]
  /** Further fields under --json. */
  readonly data: object

  /** `by`: command named before the message for a person, unless there is another `text`. */
  constructor(
    message: string,
    {
      by,
      code = EXIT.failed,
      text = by === undefined ? message : `${by}: ${message}`,
      problems = [],
      data = {},
    }: Partial<Pick<Refusal, 'code' | 'text' | 'problems' | 'data'>> & { by?: string } = {},
  ) {
    super(message)
    this.code = code
    this.text = text
    this.problems = problems
    this.data = data
  }
}

/** A Refusal of a command line that cannot be executed. */
export function misused(message: string, by?: string): Refusal {
  return new Refusal(message, { code: EXIT.usage, ...(by && { by }) })
}

export function refusalOf(problems: readonly Problem[], code: ExitCode = EXIT.badConfig): Refusal {
  const message = 'the config or strategy files are not valid: see problems'
  return new Refusal(message, { problems, code })
}

type Failed =
  | { readonly ok: false; readonly problems: readonly Problem[] }
  | { readonly ok: false; readonly problem: Problem }

/** Returns a sound result. Throws a Refusal with the problems of any other. */
export function orRefuse<Result extends { readonly ok: true } | Failed>(
  result: Result,
): Extract<Result, { readonly ok: true }> {
  if (result.ok) return result as Extract<Result, { readonly ok: true }>
  throw refusalOf('problem' in result ? [result.problem] : result.problems)
}

/** Asks unless `--yes` was given; without a terminal the answer is no. Throws a Refusal unless the answer is yes. */
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

/** Ends an unconfirmed command that has already printed why. */
export function unwanted(): Refusal {
  const message = 'nothing was changed: answer yes, or give --yes'
  return new Refusal(message, { code: EXIT.usage, text: '' })
}
