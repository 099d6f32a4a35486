import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listDiskFiles, readDiskFile, readText } from '../../../config/yaml/yaml-files.ts'
import type { InitData } from '../../json/author-outputs.ts'
import { type ExitCode, type Given, type Io, print } from '../../process/io.ts'
import { programName } from '../../process/program-name.ts'
import { misused } from '../../process/refusal.ts'
import {
  type Content,
  cdLines,
  configSteps,
  contentsOf,
  type Steps,
  sandboxSteps,
  variablesOf,
} from './init/contents.ts'
import { type AnswerFlags, type Answers, gatherAnswers } from './init/init-answers.ts'
import { type Written, writeFolder } from './init/write-files.ts'

export type InitOptions = AnswerFlags & { readonly force?: boolean }

/** `tranched init`: writes a starter folder. On a terminal asks for answers that flags do not give. Keeps existing files. */
export async function init(options: InitOptions, io: Io): Promise<ExitCode> {
  const answered = await gatherAnswers(options, io)
  if (!answered.ok) throw misused(answered.text)
  const { value: answers } = answered
  const root = packageRoot()
  const contents = await contentsOf(answers, async (path) => {
    const text = await readFile(join(root, path), 'utf8')
    return path === ECOSYSTEM ? withProgram(text, join(root, 'dist/tranched.js')) : text
  })
  const dir = resolve(answers.dir)
  const done = await writeFolder(dir, contents, { force: options.force === true })
  const on = answers.mode === 'live' ? strategiesThatAreOn(dir) : []
  const steps = stepsOf(answers, { contents, program: programName(io, dir) })
  const data: Given<InitData> = {
    dir,
    written: done.written,
    kept: done.kept.map(({ file }) => file),
    saved: done.saved,
    appended: done.appended ?? [],
    on,
    next: steps.flatMap(({ lines }) => lines),
  }
  return print<InitData>(io, options, data, () => [
    `in ${dir}:`,
    ...outcomeLines(done),
    ...on.map((file) => `  on     ${file}: config/live.yaml trades it with real money`),
    ...steps.flatMap(({ said, lines }) => ['', ...said, '', ...lines.map((line) => `  ${line}`)]),
  ])
}

const ECOSYSTEM = 'ecosystem.config.cjs'

/** Names the program for a folder whose PATH has none, such as one made from a clone. */
function withProgram(ecosystem: string, program: string): string {
  return ecosystem.replace('const madeBy = undefined', `const madeBy = ${JSON.stringify(program)}`)
}

/**
 * Kept strategies that a live config in this folder would trade; `init` writes its own as disabled. Reads only the text, so
 * that a mistake in a file hides nothing.
 */
function strategiesThatAreOn(dir: string): readonly string[] {
  const names = listDiskFiles(join(dir, 'strategies')).filter((name) =>
    /^[^.].*\.ya?ml$/.test(name),
  )
  const on: string[] = []
  for (const name of names.sort()) {
    const file = `strategies/${name}`
    // An unreadable file counts as enabled.
    const read = readText(join(dir, file), readDiskFile)
    if (!read.ok || !/^enabled: +false\b/m.test(read.text)) on.push(file)
  }
  return on
}

function outcomeLines({ written, kept, saved, appended }: Written): readonly string[] {
  return [
    ...written.map((file) => `  wrote  ${file}`),
    ...kept.map(({ file, why }) => `  kept   ${file} (${why})`),
    ...saved.map((file) => `  saved  ${file}, as it was before`),
    ...(appended === undefined ? [] : [`  added  to .gitignore: ${appended.join(' ')}`]),
  ]
}

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

/** The directory of this package, found from its sources or from the bundle. */
function packageRoot(): string {
  let dir = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(dir, 'package.json'))) {
    const parent = dirname(dir)
    if (parent === dir) throw new Error('the files of this package are incomplete: reinstall it')
    dir = parent
  }
  return dir
}
