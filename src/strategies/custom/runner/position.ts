import { fileURLToPath } from 'node:url'

/** Characters of a stack that are read. */
const STACK_LENGTH_MAX = 20_000

/** ` (FILE:LINE:COLUMN)` of the first stack frame in the module's files, relative to `folder`; empty if there is none. */
export function placeOf(error: unknown, folder?: string): string {
  const stack: unknown = error instanceof Error ? error.stack : undefined
  const place = /(file:\/\/\S+?|\/\S+?\.c?js):(\d+):(\d+)\)?$/m.exec(
    typeof stack === 'string' ? ownLines(stack.slice(0, STACK_LENGTH_MAX)) : '',
  )
  if (place === null) return ''
  const [, at = '', line, column] = place
  const file = at.startsWith('file:') ? fileURLToPath(at) : at
  const isOwn = folder !== undefined && file.startsWith(`${folder}/`)
  return ` (${isOwn ? file.slice(folder.length + 1) : file}:${line}:${column})`
}

function ownLines(stack: string): string {
  return stack
    .split('\n')
    .filter((line) => !line.includes(import.meta.url))
    .join('\n')
}

/** ` (FILE:LINE)` of the first line that imports a specifier; empty if there is none. */
export function importPlaceOf(specifier: string, from: string, text: string): string {
  const quoted = [`'${specifier}'`, `"${specifier}"`]
  const index = text.split('\n').findIndex((line) => quoted.some((word) => line.includes(word)))
  return index < 0 ? '' : ` (${fileURLToPath(from)}:${index + 1})`
}

export function firstLine(text: string): string {
  return text.split(/[\r\n]/, 1)[0] ?? ''
}
