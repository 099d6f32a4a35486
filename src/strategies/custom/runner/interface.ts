import { fileURLToPath } from 'node:url'
import type { ModuleFault } from '../../../domain/module.ts'

/** A loaded module with its params. */
export type Ready = {
  readonly ok: true
  readonly params: unknown
  readonly decide: (view: unknown) => unknown
}

type Refused = { readonly ok: false; readonly faults: readonly ModuleFault[] }

const ISSUES_MAX = 20

/** Reads `schema` and `decide`, or a default function that returns both. Either may take `given`: `({ z }) => ...`. */
export function readExports(
  exports: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, unknown>>,
  rawParams: unknown,
): Ready | Refused {
  try {
    const { schema, decide } = partsOf(exports, given)
    if (typeof decide !== 'function')
      return refused('this module exports no function `decide`', 'export function decide(view)')
    if (!isSchema(schema))
      return refused('this module exports no `schema` of its params', 'export const schema, of zod')
    const parsed = schema.safeParse(rawParams)
    if (!parsed.success) return { ok: false, faults: paramFaults(parsed.error) }
    return { ok: true, params: frozen(parsed.data), decide: decide as Ready['decide'] }
  } catch (error) {
    const message = `the schema of this module failed: ${firstLine(textOf(error))}${placeOf(error)}`
    return refused(message, 'one that never throws')
  }
}

function partsOf(
  exports: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const whole = exports['default']
  const hasParts = exports['decide'] !== undefined || exports['schema'] !== undefined
  const made: unknown = !hasParts && typeof whole === 'function' ? whole(given) : exports
  const { schema, decide } = (made instanceof Object ? made : exports) as typeof exports
  const isMade = isSchema(schema) || typeof schema !== 'function'
  return { schema: isMade ? schema : schema(given), decide }
}

/** Frozen, because every slot gets the same params. */
export function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  // Bytes cannot be frozen.
  if (!ArrayBuffer.isView(value)) Object.freeze(value)
  for (const inner of Object.values(value)) frozen(inner)
  return value
}

type ModuleSchema = {
  safeParse(
    given: unknown,
  ):
    | { readonly success: true; readonly data: unknown }
    | { readonly success: false; readonly error: unknown }
}

function isSchema(value: unknown): value is ModuleSchema {
  return (
    (typeof value === 'object' || typeof value === 'function') &&
    value !== null &&
    'safeParse' in value &&
    typeof value.safeParse === 'function'
  )
}

function refused(message: string, expected: string): Refused {
  return { ok: false, faults: [{ path: ['module'], message, expected }] }
}

function paramFaults(error: unknown): readonly ModuleFault[] {
  const issues: unknown = error instanceof Object ? Reflect.get(error, 'issues') : undefined
  const list: readonly unknown[] = Array.isArray(issues) ? issues : [error]
  return list.slice(0, ISSUES_MAX).map((issue) => {
    const at: unknown = issue instanceof Object ? Reflect.get(issue, 'path') : undefined
    const inner = Array.isArray(at) ? at.filter((part) => typeof part !== 'symbol') : []
    const message = `its module refuses this: ${textOf(issue)}`
    const expected = 'what the schema of the module asks for'
    return { path: ['params', ...inner], message, expected }
  })
}

/** A thrown value may have no text. */
export function textOf(error: unknown): string {
  try {
    const message: unknown = error instanceof Object ? Reflect.get(error, 'message') : undefined
    return String(message ?? error)
  } catch {
    return 'it threw a value without a text'
  }
}

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
