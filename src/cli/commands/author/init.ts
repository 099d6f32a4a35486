import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { EXIT, type ExitCode, type Io, printFailure, printJson } from '../../io.ts'
import type { InitData } from '../../json/author.ts'
import { programName } from '../../program-name.ts'
import { type AnswerFlags, type Answers, gatherAnswers } from './init/answers.ts'
import { type Content, contentsOf } from './init/contents.ts'
import { cdLines, configSteps, type Steps, sandboxSteps, variablesOf } from './init/next.ts'
import { strategiesThatAreOn } from './init/on.ts'
import { type Written, writeFolder } from './init/write.ts'

export type InitOptions = AnswerFlags & { readonly force?: boolean }

/** `tranched init`: a folder to start from. Asks on a terminal what no flag answers, and keeps what is there. */
export async function init(options: InitOptions, io: Io): Promise<ExitCode> {
  const answered = await gatherAnswers(options, io)
  if (!answered.ok) return printFailure(io, options, { message: answered.text, code: EXIT.usage })
  const { answers } = answered
  const root = packageRoot()
  const contents = await contentsOf(answers, (path) => readFile(join(root, path), 'utf8'))
  const dir = resolve(answers.dir)
  const done = await writeFolder(dir, contents, { force: options.force === true })
  const on = answers.mode === 'live' ? strategiesThatAreOn(dir) : []
  const steps = stepsOf(answers, { contents, program: programName(io, dir) })
  if (options.json) {
    const { written, kept, saved, appended } = done
    printJson<InitData>(io, {
      ok: true,
      dir,
      written,
      kept: kept.map(({ file }) => file),
      saved,
      appended: appended ?? [],
      on,
      next: steps.flatMap(({ lines }) => lines),
      problems: [],
    })
    return EXIT.done
  }
  const lines = [
    `in ${dir}:`,
    ...outcomeLines(done),
    ...on.map((file) => `  on     ${file}: config/live.yaml trades it with real money`),
    ...steps.flatMap(({ said, lines }) => ['', ...said, '', ...lines.map((line) => `  ${line}`)]),
  ]
  io.stdout.write(`${lines.join('\n')}\n`)
  return EXIT.done
}

function outcomeLines({ written, kept, saved, appended }: Written): readonly string[] {
  return [
    ...written.map((file) => `  wrote  ${file}`),
    ...kept.map(({ file, why }) => `  kept   ${file} (${why})`),
    ...saved.map((file) => `  saved  ${file}, as it was before`),
    ...(appended === undefined ? [] : [`  added  to .gitignore: ${appended.join(' ')}`]),
  ]
}

/** Begins where the reader is. */
function stepsOf(
  { dir, mode }: Answers,
  { contents, program }: { readonly contents: readonly Content[]; readonly program: string },
): readonly Steps[] {
  const first = sandboxSteps(program)
  const rehearsal = { ...first, lines: [...cdLines(dir, process.cwd()), ...first.lines] }
  const config = `config/${mode}.yaml`
  const variables = variablesOf(contents.find(({ to }) => to === config)?.text ?? '')
  return mode === 'sandbox' ? [rehearsal] : [rehearsal, configSteps(program, { config, variables })]
}

/** The directory of this package, whether the code runs from its sources or from the bundle. */
function packageRoot(): string {
  let dir = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(dir, 'package.json'))) {
    const parent = dirname(dir)
    if (parent === dir)
      throw new Error('the files of this package are incomplete: install it again')
    dir = parent
  }
  return dir
}
