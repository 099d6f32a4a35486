import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Mode } from '../../../../domain/settings.ts'
import { nearest } from '../../../../domain/text/nearest.ts'
import { KIND_NAMES, type KindName } from '../../../../strategies/registry.ts'
import { SCHEMAS } from '../../../../strategies/schemas.ts'
import type { Io } from '../../../process/io.ts'
import { labelled } from '../../../text/table.ts'

export type Answers = {
  /** As typed, relative to the working directory. */
  readonly dir: string
  readonly kinds: readonly KindName[]
  readonly mode: Mode
}

/** Answers from flags; `init` asks for the others. */
export type AnswerFlags = {
  readonly dir?: string | undefined
  readonly kinds?: string
  readonly mode?: string
  readonly yes?: boolean
  readonly json?: boolean
}

export type Read<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly text: string }

type Question<Value> = {
  readonly given: string | undefined
  readonly explained: readonly string[]
  readonly prompt: string
  readonly usual: string
  readonly read: (text: string) => Read<Value>
}

const MODES: Readonly<Record<Mode, string>> = {
  live: 'config/live.yaml, real money; its strategies are off until you turn them on',
  'dry-run': 'config/dry-run.yaml, real prices and quotes on paper; it signs nothing',
  sandbox: 'none',
}

const ALL = 'all'
const TRIES_MAX = 3

/** Takes answers from flags, from a person on a terminal, or from defaults. With `yes` or `json` asks nothing. */
export async function gatherAnswers(flags: AnswerFlags, io: Io): Promise<Read<Answers>> {
  const mayAsk = flags.yes !== true && flags.json !== true
  const { ask } = mayAsk ? io : { ask: async () => undefined }
  // Validates flags before asking for the rest.
  const readers = { kinds: readKinds, mode: readMode }
  for (const name of ['kinds', 'mode'] as const) {
    const text = flags[name]
    const given = text === undefined ? undefined : readers[name](text)
    if (given?.ok === false) return { ok: false, text: `flag --${name}: ${given.text}` }
  }
  const say = (line: string) => void io.stderr.write(`${line}\n`)
  const answer = <Value>(question: Question<Value>) => answerTo(question, { ask, say })

  const dir = await answer({
    given: flags.dir,
    explained: ['Press Enter to take the value in brackets.', ''],
    prompt: 'Folder to write into',
    usual: '.',
    read: (text) => ({ ok: true, value: inHome(text) }),
  })
  if (!dir.ok) return dir
  const kinds = rows(KIND_NAMES.map((name) => [name, SCHEMAS[name].does]))
  const wanted = await answer({
    given: flags.kinds,
    explained: ['', 'Kinds of strategies:', ...kinds],
    prompt: 'Which kinds, separated by commas, or all',
    usual: KIND_NAMES[0] ?? ALL,
    read: readKinds,
  })
  if (!wanted.ok) return wanted
  const beside = await answer({
    given: flags.mode,
    explained: [
      '',
      "Config to write besides the sandbox's, by mode:",
      ...rows(Object.entries(MODES)),
    ],
    prompt: 'Which mode',
    usual: 'live',
    read: readMode,
  })
  if (!beside.ok) return beside
  return { ok: true, value: { dir: dir.value, kinds: wanted.value, mode: beside.value } }
}

/** Allows a person `TRIES_MAX` tries. */
async function answerTo<Value>(
  { given, explained, prompt, usual, read }: Question<Value>,
  { ask, say }: Pick<Io, 'ask'> & { readonly say: (line: string) => void },
): Promise<Read<Value>> {
  if (given !== undefined) return read(given)
  let last = read(usual)
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    if (tries > 1) say(last.ok ? '' : last.text)
    const question = [...(tries === 1 ? explained : []), `${prompt} [${usual}]: `].join('\n')
    const answer = await ask(question)
    if (answer === undefined) return read(usual)
    last = read(answer === '' ? usual : answer)
    if (last.ok) return last
  }
  return last
}

function readKinds(text: string): Read<readonly KindName[]> {
  const known = KIND_NAMES
  const names = text.split(/\s*(?:,\s*and\s|,|\sand\s)\s*/).map((name) => name.trim())
  const isAll = names.length === 1 && names[0] === ALL
  const stranger = names.find((name) => !isAll && !known.some((kind) => kind === name))
  if (stranger === undefined)
    return { ok: true, value: known.filter((kind) => isAll || names.includes(kind)) }
  const message =
    stranger === '' ? 'a name is missing' : `there is no kind of strategy called ${stranger}`
  const expected = `one or more of: ${known.join(', ')}; or ${ALL}`
  return unknown(stranger, { message, expected, known: [...known, ALL] })
}

function readMode(text: string): Read<Mode> {
  const known = Object.keys(MODES) as Mode[]
  const mode = known.find((each) => each === text)
  if (mode !== undefined) return { ok: true, value: mode }
  const message = `there is no mode called ${text}`
  return unknown(text, { message, expected: `one of: ${known.join(', ')}`, known })
}

function unknown(
  word: string,
  fault: Readonly<Record<'message' | 'expected', string>> & { readonly known: readonly string[] },
): Read<never> {
  const meant = nearest(word, fault.known)
  const lines = [fault.message, `  expected: ${fault.expected}`]
  if (meant !== undefined) lines.push(`  did you mean \`${meant}\`?`)
  return { ok: false, text: lines.join('\n') }
}

/** Expands `~`, as a shell does in a flag. */
function inHome(text: string): string {
  return text === '~' || text.startsWith('~/') ? join(homedir(), text.slice(1)) : text
}

function rows(table: readonly (readonly [string, string])[]): readonly string[] {
  return labelled(table).map((line) => `  ${line}`)
}
