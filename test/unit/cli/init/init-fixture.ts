import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type InitOptions, init } from '../../../../src/cli/commands/author/init.ts'
import type { ExitCode, Io } from '../../../../src/cli/process/io.ts'
import { reportError } from '../../../../src/cli/text/explain.ts'

export type InitRun = {
  readonly code: ExitCode
  readonly stdout: string
  readonly stderr: string
  readonly questions: readonly string[]
}

/** Runs `init` with these answers in turn; without answers there is no terminal. */
export async function initFor(
  options: InitOptions,
  given: { readonly answers?: readonly string[]; readonly startedAs?: string } = {},
): Promise<InitRun> {
  const texts = { stdout: '', stderr: '' }
  const questions: string[] = []
  const answers = given.answers?.slice()
  const stream = (name: 'stdout' | 'stderr') => ({
    write(text: string) {
      texts[name] += text
    },
  })
  const io = {
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    env: { PATH: '/usr/bin:/opt/bin' },
    startedAs: given.startedAs ?? '/opt/bin/tranched',
    async ask(question: string) {
      questions.push(question)
      if (answers === undefined) return undefined
      const answer = answers.shift()
      if (answer === undefined) throw new Error(`no answer left for: ${question}`)
      return answer
    },
  }
  const code = await init(options, io as unknown as Io).catch((error: unknown) =>
    reportError(error, io as unknown as Io, { json: options.json === true }),
  )
  return { code, ...texts, questions }
}

/** Paths of all files in a folder, by name. */
export function filesIn(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((file) => statSync(join(dir, file)).isFile())
    .sort()
}

export function textsIn(dir: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    filesIn(dir).map((file) => [file, readFileSync(join(dir, file), 'utf8')]),
  )
}
