import type { Command, Option } from 'commander'

/** A word that may stand where the cursor is. */
export type Candidate = { readonly value: string; readonly description: string }

/** What may stand there: these words, or whatever files or directories there are. */
export type Completion =
  | { readonly kind: 'words'; readonly candidates: readonly Candidate[] }
  | { readonly kind: 'files' }
  | { readonly kind: 'directories' }

/** Values of options that were typed before the cursor, by their names in camel case. */
export type TypedOptions = Readonly<Record<string, string>>

/** What an operator's files name. */
export type Named = 'strategy' | 'pair'

export type Names = (typed: TypedOptions, what: Named) => readonly string[]

/** Arguments and values that are such a name, or begin with one. */
const NAMED: ReadonlyMap<string, Named> = new Map([
  ['strategy', 'strategy'],
  ['slot', 'strategy'],
  ['intent', 'strategy'],
  ['name', 'strategy'],
  ['pair', 'pair'],
])

/**
 * What may stand in the last of `words`, which is what is typed of it so far, maybe nothing; the program's own name is not among
 * them. `names` is asked only where one may stand.
 */
export function complete(root: Command, words: readonly string[], names: Names): Completion {
  const current = words.at(-1) ?? ''
  const { command, typed, pending, given } = walk(root, words.slice(0, -1))
  const named = (what: Named): readonly Candidate[] =>
    names(typed, what).map((value) => ({ value, description: what }))
  if (pending !== undefined) return matching(valuesOf(pending, named), current)
  if (current.startsWith('-')) return matching(ofWords(optionsOf(command)), current)
  const argument = command.registeredArguments[given] ?? lastVariadic(command)
  if (argument !== undefined) {
    const { argChoices: choices } = argument
    const completion = valuesOf({ name: argument.name(), choices }, named)
    return matching(given === 0 ? withWords(completion, commandsOf(command)) : completion, current)
  }
  return matching(ofWords(given === 0 ? commandsOf(command) : []), current)
}

type Walked = {
  readonly command: Command
  readonly typed: TypedOptions
  /** Set where the word before is an option whose value is to come. */
  readonly pending: Value | undefined
  /** Arguments of the command so far. */
  readonly given: number
}

type Value = { readonly name: string; readonly choices: readonly string[] | undefined }

function walk(root: Command, words: readonly string[]): Walked {
  let command = root
  let pending: Option | undefined
  let given = 0
  const typed: Record<string, string> = {}
  for (const word of words) {
    if (pending !== undefined) {
      typed[pending.attributeName()] = word
      pending = undefined
      continue
    }
    if (word.startsWith('-')) {
      pending = takingValue(command, word)
      continue
    }
    const next: Command | undefined = command.commands.find((each) => each.name() === word)
    if (next === undefined) given += 1
    else command = next
  }
  return {
    ...{ command, typed, given },
    pending: pending && { name: placeholderOf(pending), choices: pending.argChoices },
  }
}

function takingValue(command: Command, word: string): Option | undefined {
  const option = command.options.find(({ long, short }) => word === long || word === short)
  return option?.required === true ? option : undefined
}

/** `file` of `--config <file>`. */
function placeholderOf({ flags }: Option): string {
  return /<([^>.]+)/.exec(flags)?.[1] ?? ''
}

function lastVariadic({ registeredArguments }: Command) {
  const last = registeredArguments.at(-1)
  return last?.variadic === true ? last : undefined
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

/** Some commands have arguments, and commands below them, too. */
function withWords(completion: Completion, more: readonly Candidate[]): Completion {
  if (completion.kind !== 'words') return completion
  return ofWords([...completion.candidates, ...more])
}

function ofWords(candidates: readonly Candidate[]): Completion {
  return { kind: 'words', candidates }
}

function matching(completion: Completion, current: string): Completion {
  if (completion.kind !== 'words') return completion
  return ofWords(completion.candidates.filter(({ value }) => value.startsWith(current)))
}
