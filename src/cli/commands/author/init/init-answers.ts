import { homedir } from 'node:os'
import { join } from 'node:path'
import { nearest } from '../../../../domain/nearest.ts'
import type { Mode } from '../../../../domain/settings.ts'
import type { Strategy } from '../../../../domain/strategy.ts'
import type { Io } from '../../../io.ts'

export type Kind = Strategy['kind']

/** What decides what is written. */
export type Answers = {
  /** As it was typed: relative to where the reader is. */
  readonly dir: string
  readonly kinds: readonly Kind[]
  readonly mode: Mode
}

/** Answers as they were typed; what no flag answers is asked. */
export type AnswerFlags = {
  readonly dir?: string | undefined
  readonly kinds?: string
  readonly mode?: string
  /** Asks nothing. */
  readonly yes?: boolean
  readonly json?: boolean
}

export type Answered =
  | { readonly ok: true; readonly answers: Answers }
  | { readonly ok: false; readonly text: string }

type Read<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly text: string }

/** One of the answers: how it is asked for and read, and what it is unless it is given. */
type Question<Value> = {
  readonly given: string | undefined
  readonly explained: readonly string[]
  readonly asked: string
  readonly usual: string
  readonly read: (text: string) => Read<Value>
}

const KINDS: Readonly<Record<Kind, string>> = {
  dca: 'trades an amount on every slot of a schedule',
  rebalance: 'keeps the weights of a portfolio',
  threshold: 'trades when a price reaches a level: take-profit, stop-loss, trailing stop, ladder',
  twap: 'sells a total in equal slices of time',
  call: 'calls a contract on a schedule, through the aggregation service',
  custom: 'decides by a module of your own',
}

const MODES: Readonly<Record<Mode, string>> = {
  live: 'config/live.yaml, real money; every strategy of it is off until you turn it on',
  'dry-run': 'config/dry-run.yaml, real prices and quotes on paper; it signs nothing',
  sandbox: 'none',
}

const ALL = 'all'
const TRIES_MAX = 3

/**
 * Everything that `init` has to know: of flags, of a person where there is one to ask, or else as it usually is. Asks
 * nothing with `yes` or `json`.
 */
export async function gatherAnswers(flags: AnswerFlags, io: Io): Promise<Answered> {
  const mayAsk = flags.yes !== true && flags.json !== true
  const { ask } = mayAsk ? io : { ask: async () => undefined }
  // What a flag says is looked at before anybody is asked for the rest.
  const kinds = flags.kinds === undefined ? undefined : readKinds(flags.kinds)
  if (kinds?.ok === false) return wrongFlag('--kinds', kinds.text)
  const mode = flags.mode === undefined ? undefined : readMode(flags.mode)
  if (mode?.ok === false) return wrongFlag('--mode', mode.text)
  const asking = { ask, say: (line: string) => void io.stderr.write(`${line}\n`) }

  const dir = await answerTo(
    {
      given: flags.dir,
      explained: ['What stands in brackets is taken when you press Enter.', ''],
      asked: 'Folder to write into',
      usual: '.',
      read: (text) => ({ ok: true, value: inHome(text) }),
    },
    asking,
  )
  if (!dir.ok) return dir
  const wanted = await answerTo(
    {
      given: flags.kinds,
      explained: ['', 'Kinds of strategies:', ...rows(KINDS)],
      asked: 'Which of them, with commas between, or all',
      usual: 'dca',
      read: readKinds,
    },
    asking,
  )
  if (!wanted.ok) return wanted
  const beside = await answerTo(
    {
      given: flags.mode,
      explained: ['', "Config beside the sandbox's, by its mode:", ...rows(MODES)],
      asked: 'Which of them',
      usual: 'live',
      read: readMode,
    },
    asking,
  )
  if (!beside.ok) return beside
  return { ok: true, answers: { dir: dir.value, kinds: wanted.value, mode: beside.value } }
}

function wrongFlag(flag: string, text: string): Answered {
  return { ok: false, text: `flag ${flag}: ${text}` }
}

type Asking = Pick<Io, 'ask'> & { readonly say: (line: string) => void }

/** By the flag, by a person, who may try a few times, or as it usually is where there is nobody. */
async function answerTo<Value>(
  { given, explained, asked, usual, read }: Question<Value>,
  { ask, say }: Asking,
): Promise<Read<Value>> {
  if (given !== undefined) return read(given)
  let last = read(usual)
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    if (tries > 1) say(last.ok ? '' : last.text)
    const question = [...(tries === 1 ? explained : []), `${asked} [${usual}]: `].join('\n')
    const answer = await ask(question)
    if (answer === undefined) return read(usual)
    last = read(answer === '' ? usual : answer)
    if (last.ok) return last
  }
  return last
}

/** The kinds that a list names, each once, in the order in which they are told. */
function readKinds(text: string): Read<readonly Kind[]> {
  const known = Object.keys(KINDS) as Kind[]
  const names = text.split(/\s*(?:,\s*and\s|,|\sand\s)\s*/).map((name) => name.trim())
  const isAll = names.length === 1 && names[0] === ALL
  const stranger = names.find((name) => !isAll && !known.some((kind) => kind === name))
  if (stranger === undefined)
    return { ok: true, value: known.filter((kind) => isAll || names.includes(kind)) }
  const message =
    stranger === '' ? 'a name is missing' : `there is no kind of strategy called ${stranger}`
  return unknown(stranger, {
    message,
    expected: `one or more of: ${known.join(', ')}; or ${ALL}`,
    known: [...known, ALL],
  })
}

function readMode(text: string): Read<Mode> {
  const known = Object.keys(MODES) as Mode[]
  const mode = known.find((each) => each === text)
  if (mode !== undefined) return { ok: true, value: mode }
  const message = `there is no mode called ${text}`
  return unknown(text, { message, expected: `one of: ${known.join(', ')}`, known })
}

/** Worded as what is wrong in a file is. */
function unknown(
  word: string,
  told: {
    readonly message: string
    readonly expected: string
    readonly known: readonly string[]
  },
): { readonly ok: false; readonly text: string } {
  const meant = nearest(word, told.known)
  const lines = [told.message, `  expected: ${told.expected}`]
  if (meant !== undefined) lines.push(`  did you mean \`${meant}\`?`)
  return { ok: false, text: lines.join('\n') }
}

/** What a shell would have made of a flag. */
function inHome(text: string): string {
  return text === '~' || text.startsWith('~/') ? join(homedir(), text.slice(1)) : text
}

function rows(table: Readonly<Record<string, string>>): readonly string[] {
  const width = Math.max(...Object.keys(table).map((name) => name.length))
  return Object.entries(table).map(([name, does]) => `  ${name.padEnd(width)}  ${does}`)
}
