import { expect, type TestContext } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { type Command, commandsOf, type Fence, fencesOf } from './fences.ts'
import { NOT_TYPED, NOTES, type Note, type Step } from './pages.ts'
import type { Clone, Terminal, Typed } from './terminal.ts'

/** Why a command is not typed, if it is not. */
export function reasonAgainst({ text }: Command): string | undefined {
  return NOT_TYPED[beginningOf(text, Object.keys(NOT_TYPED)) ?? '']
}

/** The note on a command, and how it names the command; undefined without one. */
export function noteOf({ file, text }: Command): { readonly key?: string; readonly note: Note } {
  const notes = NOTES[file] ?? {}
  const key = beginningOf(text, Object.keys(notes))
  return key === undefined ? { note: {} } : { key, note: notes[key] ?? {} }
}

/** The longest of the beginnings that a command has. */
export function beginningOf(text: string, beginnings: readonly string[]): string | undefined {
  return beginnings
    .filter((beginning) => text.startsWith(beginning))
    .toSorted((a, b) => b.length - a.length)[0]
}

/** A command with its stand-ins. */
export function standIn(text: string, { as = {} }: Note): string {
  return Object.entries(as).reduce((typed, [shown, own]) => typed.replace(shown, () => own), text)
}

const setsAlias = ({ text }: Command): boolean => text.startsWith('alias tranched=')

/** What the README has its reader type once per shell. */
const ALIAS = fencesOf('README.md').flatMap(commandsOf).filter(setsAlias)

type PageInput = {
  readonly fences: readonly Fence[]
  readonly clone: Clone
  readonly context: TestContext
}

/** Types the commands of pages in one clone, each with what its note says. */
export async function typePages({ fences, clone, context }: PageInput): Promise<void> {
  const terminal = await clone.terminal()
  context.onTestFinished(() => terminal.close())
  const files = fences.filter(({ language }) => language === 'yaml')
  for (const [index, { lines }] of files.entries())
    await terminal.write(`/mnt/shown/${index + 1}.yaml`, `${lines.join('\n')}\n`)
  const commands = fences.flatMap(commandsOf)
  if (!commands.some(setsAlias)) for (const { text } of ALIAS) await terminal.type(text)
  const prepared = new Set<Note>()
  for (const command of commands) {
    if (reasonAgainst(command) !== undefined) continue
    const { note } = noteOf(command)
    if (!prepared.has(note)) for (const step of note.first ?? []) await take(terminal, step)
    prepared.add(note)
    await typeCommand(terminal, command, note)
  }
  await terminal.interruptAll()
}

async function take(terminal: Terminal, step: Step): Promise<void> {
  if (step === 'interrupt') return terminal.interrupt()
  if (typeof step === 'string') {
    const { code, output } = await terminal.type(step)
    expect(code, `${step}\n${output}`).toBe(0)
  } else if ('begins' in step) await begin(terminal, { text: step.begins, until: step.shows })
  else await repeat(terminal, { text: step.repeats, until: step.until })
}

async function typeCommand(terminal: Terminal, command: Command, note: Note): Promise<void> {
  const text = standIn(command.text, note)
  const what = `${command.file}:${command.line}: ${text}`
  if (note.lasts !== undefined) return begin(terminal, { text, until: note.lasts, what })
  if (note.until !== undefined) return repeat(terminal, { text, until: note.until, what })
  const { code, output } = await terminal.type(text, note.answer)
  expect(code, `${what}\n${output}`).toBe(note.code ?? 0)
  if (note.shows !== undefined) expect(output, what).toMatch(note.shows)
}

type Shown = { readonly text: string; readonly until: RegExp; readonly what?: string }

async function begin(terminal: Terminal, { text, until, what = text }: Shown): Promise<void> {
  const file = await terminal.begin(text)
  await repeat(terminal, { text: `cat ${file}`, until, what })
}

async function repeat(terminal: Terminal, { text, until, what = text }: Shown): Promise<void> {
  const isShown = ({ code, output }: Typed): boolean => code === 0 && until.test(output)
  await waitFor(`${until} of ${what}`, () => terminal.type(text), isShown)
}
