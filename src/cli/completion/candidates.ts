import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import type { Command, Option } from 'commander'
import { type ConfigOptions, loadForReading, settingsForReading } from '../load-files.ts'
import { defaultConfig, EXIT, type ExitCode, type Io } from '../process/io.ts'

type Candidate = { readonly value: string; readonly description: string }

type Completion =
  | { readonly kind: 'words'; readonly candidates: readonly Candidate[] }
  | { readonly kind: 'files' }
  | { readonly kind: 'directories' }

/** Options typed before the cursor, by camel-case name. */
export type TypedOptions = Readonly<Record<string, string>>

/** Names from the operator's files. */
export type Named = 'strategy' | 'pair'

type Names = (typed: TypedOptions, what: Named) => readonly string[]

/** Placeholders whose values are such a name, or begin with one. */
const NAMED: ReadonlyMap<string, Named> = new Map([
  ['strategy', 'strategy'],
  ['slot', 'strategy'],
  ['intent', 'strategy'],
  ['name', 'strategy'],
  ['pair', 'pair'],
])

/** Completes the last of `words`, which exclude the program's name. Calls `names` only where a name can stand. */
export function complete(root: Command, words: readonly string[], names: Names): Completion {
  const current = words.at(-1) ?? ''
  const { command, typed, pending, given } = walk(root, words.slice(0, -1))
  const named = (what: Named): readonly Candidate[] =>
    names(typed, what).map((value) => ({ value, description: what }))
  const completion = (): Completion => {
    if (pending !== undefined) return valuesOf(pending, named)
    if (current.startsWith('-')) return ofWords(optionsOf(command))
    const own = given === 0 ? commandsOf(command) : []
    const last = command.registeredArguments.at(-1)
    const argument = command.registeredArguments[given] ?? (last?.variadic ? last : undefined)
    if (argument === undefined) return ofWords(own)
    const { argChoices: choices } = argument
    const values = valuesOf({ name: argument.name(), choices }, named)
    // Some commands have both arguments and subcommands.
    return values.kind === 'words' ? ofWords([...values.candidates, ...own]) : values
  }
  const found = completion()
  if (found.kind !== 'words') return found
  return ofWords(found.candidates.filter(({ value }) => value.startsWith(current)))
}

type Value = { readonly name: string; readonly choices: readonly string[] | undefined }

function walk(root: Command, words: readonly string[]) {
  let command = root
  let pending: Option | undefined
  /** Number of the command's arguments so far. */
  let given = 0
  const typed: Record<string, string> = {}
  for (const word of words) {
    if (pending !== undefined) {
      typed[pending.attributeName()] = word
      pending = undefined
      continue
    }
    if (word.startsWith('-')) {
      const option = command.options.find(({ long, short }) => word === long || word === short)
      pending = option?.required === true ? option : undefined
      continue
    }
    const next: Command | undefined = command.commands.find((each) => each.name() === word)
    if (next === undefined) given += 1
    else command = next
  }
  // `file` of `--config <file>`.
  const name = /<([^>.]+)/.exec(pending?.flags ?? '')?.[1] ?? ''
  const value = pending && { name, choices: pending.argChoices }
  return { command, typed, given, pending: value }
}

function valuesOf(
  { name, choices }: Value,
  named: (what: Named) => readonly Candidate[],
): Completion {
  if (choices !== undefined) return ofWords(choices.map((value) => ({ value, description: '' })))
  if (name === 'file' || name === 'backup') return { kind: 'files' }
  if (name === 'dir' || name === 'target') return { kind: 'directories' }
  const what = NAMED.get(name)
  return ofWords(what === undefined ? [] : named(what))
}

function commandsOf(command: Command): readonly Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((each) => ({ value: each.name(), description: each.description() }))
}

function optionsOf(command: Command): readonly Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map(({ long, short, description }) => ({ value: long ?? short ?? '', description }))
}

function ofWords(candidates: readonly Candidate[]): Completion {
  return { kind: 'words', candidates }
}

export function answerCompletion(root: Command, words: readonly string[], io: Io): ExitCode {
  const completion = complete(root, words, (typed, what) => namesOf(what, typed, io))
  const lines =
    completion.kind === 'words'
      ? completion.candidates.map(({ value, description }) => `${value}\t${description}`)
      : [`:${completion.kind}`]
  for (const line of lines) io.stdout.write(`${line}\n`)
  return EXIT.done
}

function namesOf(what: Named, { config, ...typed }: TypedOptions, io: Io): readonly string[] {
  const { strategiesDir, stateDir } = typed
  const options = { config: config ?? defaultConfig(io), strategiesDir, stateDir }
  if (what === 'strategy') return strategyNames(options, io)
  const found = settingsForReading(options, io)
  return found.ok ? [...found.settings.prices.keys()] : []
}

/** Falls back to file names if a file is invalid. */
function strategyNames(options: ConfigOptions, io: Io): readonly string[] {
  const loaded = loadForReading(options, io)
  if (loaded.ok) return loaded.strategies.map(({ name }) => name)
  return loaded.settings === undefined ? [] : fileNames(loaded.settings.strategiesDir)
}

function fileNames(dir: string): string[] {
  try {
    return readdirSync(dir)
      .filter((file) => /\.ya?ml$/.test(file))
      .map((file) => basename(file).replace(/\.ya?ml$/, ''))
  } catch {
    // A completion has nowhere to show an error.
    return []
  }
}
