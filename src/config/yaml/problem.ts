import { printable } from '../../domain/text/outside-text.ts'
import { maskSecrets } from './mask.ts'

/**
 * One problem in the operator's files, as `validate --json` prints it. `line` and `column` are 1-based; without a position
 * in a file both are 0 and `frame` is empty.
 */
export type Problem = {
  readonly file: string
  readonly line: number
  readonly column: number
  /** Path in the tree, e.g. `limits.perDay` or `chains.base.rpcUrls[0]`; empty for the whole file. */
  readonly path: string
  readonly message: string
  /** The expected value, or the remedy. */
  readonly expected: string
  /** The likely intended word. */
  readonly suggestion?: string
  /** Suggested replacement. */
  readonly hint?: string
  /** Source lines around the problem with a caret; secrets are masked. */
  readonly frame: string
}

export type Path = readonly (string | number)[]

/** Half-open span of character offsets in a source text. */
export type Range = readonly [start: number, end: number]

/** A file's text, the same text with secrets masked, and the offsets of its line starts. */
export type Source = {
  readonly file: string
  readonly text: string
  readonly masked: string
  readonly lineStarts: readonly number[]
}

const FRAME_WIDTH_MAX = 160

export function toSource(file: string, text: string): Source {
  const lineStarts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1))
    lineStarts.push(at + 1)
  return {
    file,
    text,
    // Only problems are shown.
    get masked() {
      return maskSecrets(text)
    },
    lineStarts,
  }
}

/** 1-based line and column of an offset. */
export function positionOf(source: Source, offset: number): { line: number; column: number } {
  const before = source.lineStarts.findLastIndex((start) => start <= offset)
  return { line: before + 1, column: offset - (source.lineStarts[before] ?? 0) + 1 }
}

/** The previous line, the line itself, and a caret under the part of `range` on that line. */
export function codeFrame(source: Source, range: Range): string {
  const { line, column } = positionOf(source, range[0])
  const gutter = String(line).length
  const rows: string[] = []
  if (line > 1) rows.push(sourceRow({ line: line - 1, gutter, text: lineOf(source, line - 1) }))
  const text = lineOf(source, line)
  rows.push(sourceRow({ line, gutter, text }))
  const carets = Math.max(1, Math.min(range[1] - range[0], text.length - column + 1))
  if (column <= FRAME_WIDTH_MAX) {
    const indent = text.slice(0, column - 1).replace(/[^\t]/g, ' ')
    const width = Math.min(carets, FRAME_WIDTH_MAX - column + 1)
    rows.push(`${' '.repeat(gutter)} | ${indent}${'^'.repeat(width)}`)
  }
  return rows.join('\n')
}

function lineOf(source: Source, line: number): string {
  const [start, end] = source.lineStarts.slice(line - 1, line + 1)
  return printable(source.masked.slice(start, end).replace(/\r?\n$/, ''))
}

function sourceRow(row: { line: number; gutter: number; text: string }): string {
  const { text } = row
  const shown = text.length > FRAME_WIDTH_MAX ? `${text.slice(0, FRAME_WIDTH_MAX)}...` : text
  return `${String(row.line).padStart(row.gutter)} | ${shown}`.trimEnd()
}

/** A problem without a position in a text: a missing file, an empty directory, an environment variable. */
export function problemOf(what: {
  file: string
  message: string
  expected: string
  path?: string
}): Problem {
  const { file, message, expected, path = '' } = what
  return { file, line: 0, column: 0, path, message, expected, frame: '' }
}

export function formatPath(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    return text === '' ? part : `${text}.${part}`
  }, '')
}

export function byPosition(a: Problem, b: Problem): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return a.line - b.line || a.column - b.column
}

/** A problem as text: position and message, frame, expectation, and suggestions. */
export function renderProblem(
  problem: Problem,
  style: { readonly color: boolean; readonly label?: string },
): string {
  const paint = (code: number, text: string) =>
    style.color ? `\u001b[${code}m${text}\u001b[0m` : text
  const place =
    problem.line === 0 ? problem.file : `${problem.file}:${problem.line}:${problem.column}`
  const subject = problem.path === '' ? '' : `${problem.path}: `
  const { label } = style
  const kind = label === undefined ? '' : `${paint(33, `${label}:`)} `
  const tint = label === undefined ? 31 : 33
  const whole = problem.path === '' ? ':' : ''
  const rows = [
    `${kind}${paint(1, `${place}${whole}`)} ${paint(tint, `${subject}${problem.message}`)}`,
  ]
  if (problem.frame !== '') rows.push(problem.frame.replace(/^/gm, '  '))
  rows.push(`  expected: ${problem.expected}`)
  if (problem.suggestion !== undefined)
    rows.push(paint(36, `  did you mean \`${problem.suggestion}\`?`))
  if (problem.hint !== undefined) rows.push(paint(36, `  hint: ${problem.hint}`))
  return rows.join('\n')
}
