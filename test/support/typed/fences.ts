import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../process/cli.ts'

/** The pages that a reader types from, in order. */
export const PAGES: readonly string[] = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
]

/** A fenced block; `line` is that of its first line inside, from 1. */
export type Fence = {
  readonly file: string
  readonly line: number
  readonly language: string
  readonly lines: readonly string[]
}

/** One command as a page shows it, its continued lines included. */
export type Command = { readonly file: string; readonly line: number; readonly text: string }

const FENCE = /^( *)(`{3,})(\S*)$/

/** @throws {Error} if a fence does not end */
export function fencesOf(file: string, text = readFileSync(join(ROOT, file), 'utf8')): Fence[] {
  const lines = text.split('\n')
  const fences: Fence[] = []
  for (let at = 0; at < lines.length; at += 1) {
    const [opening, indent = '', ticks = '', language = ''] = FENCE.exec(lines[at] ?? '') ?? []
    if (opening === undefined) continue
    const first = at + 1
    at = lines.indexOf(indent + ticks, first)
    if (at < 0) throw new Error(`${file}:${first}: this fence does not end`)
    const body = lines.slice(first, at).map((line) => line.slice(indent.length))
    fences.push({ file, line: first + 1, language, lines: body })
  }
  return fences
}

/** Commands of a fence tagged `sh`. A line that ends in a backslash continues; a line of only a comment is none. */
export function commandsOf({ file, line, language, lines }: Fence): Command[] {
  if (language !== 'sh') return []
  const commands: Command[] = []
  let begun: { line: number; text: string } | undefined
  for (const [index, text] of lines.entries()) {
    if (begun === undefined && /^\s*(#|$)/.test(text)) continue
    begun =
      begun === undefined
        ? { line: line + index, text }
        : { ...begun, text: `${begun.text}\n${text}` }
    if (text.endsWith('\\')) continue
    commands.push({ file, ...begun })
    begun = undefined
  }
  if (begun !== undefined) throw new Error(`${file}:${begun.line}: this command does not end`)
  return commands
}
