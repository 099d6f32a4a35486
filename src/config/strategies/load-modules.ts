import { statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import type { CustomDecide, CustomStrategy, Strategy } from '../../domain/strategy.ts'
import { type Fault, locate } from '../yaml/document.ts'
import { readDiskFile, readText } from '../yaml/files.ts'
import { type Problem, problemOf } from '../yaml/problem.ts'
import { parseConfigText } from '../yaml/tree.ts'

export type ModulesLoaded =
  | { readonly ok: true; readonly strategies: readonly Strategy[] }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/**
 * Brings in the module of every strategy that has one. A file that has changed since is loaded again. Modules run with
 * all rights of this process, but what they decide passes the same limits and the same firewall as any other kind.
 */
export async function loadModules(strategies: readonly Strategy[]): Promise<ModulesLoaded> {
  const loaded = await Promise.all(
    strategies.map((strategy) =>
      strategy.kind === 'custom' ? loadModule(strategy) : { ok: true as const, strategy },
    ),
  )
  const problems = loaded.flatMap((one) => (one.ok ? [] : one.problems))
  if (problems.length > 0) return { ok: false, problems }
  return { ok: true, strategies: loaded.flatMap((one) => (one.ok ? [one.strategy] : [])) }
}

type Loaded =
  | { readonly ok: true; readonly strategy: Strategy }
  | { readonly ok: false; readonly problems: readonly Problem[] }

async function loadModule(strategy: CustomStrategy): Promise<Loaded> {
  const refuse = (message: string, expected: string): Loaded => ({
    ok: false,
    problems: [problemAt(strategy, { path: ['module'], message, expected })],
  })
  let exports: unknown
  try {
    const { mtimeMs } = statSync(strategy.module)
    exports = await import(`${pathToFileURL(strategy.module).href}?at=${mtimeMs}`)
  } catch (error) {
    return refuse(`this module cannot be loaded: ${firstLine(error)}`, 'an ES module')
  }
  const { schema, decide } = exports as Readonly<Record<string, unknown>>
  if (typeof decide !== 'function')
    return refuse('this module exports no function `decide`', 'export function decide(view)')
  if (!isSchema(schema))
    return refuse('this module exports no `schema` of its params', 'export const schema, of zod')
  try {
    const parsed = schema.safeParse(strategy.params)
    if (!parsed.success) return { ok: false, problems: paramProblems(strategy, parsed.error) }
    const params = frozen(parsed.data)
    return { ok: true, strategy: { ...strategy, params, decide: decide as CustomDecide } }
  } catch (error) {
    return refuse(`the schema of this module failed: ${firstLine(error)}`, 'one that never throws')
  }
}

/** Every slot is given the same params: a module that wrote into them would decide by what an earlier slot left there. */
function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
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
    typeof value === 'object' &&
    value !== null &&
    'safeParse' in value &&
    typeof value.safeParse === 'function'
  )
}

function paramProblems(strategy: CustomStrategy, error: unknown): readonly Problem[] {
  const issues: unknown = error instanceof Object ? Reflect.get(error, 'issues') : undefined
  const list: readonly unknown[] = Array.isArray(issues) ? issues : [error]
  return list.map((issue) => {
    const at: unknown = issue instanceof Object ? Reflect.get(issue, 'path') : undefined
    const inner = Array.isArray(at) ? at.filter((part) => typeof part !== 'symbol') : []
    const message = `its module refuses this: ${firstLine(issue)}`
    const expected = 'what the schema of the module asks for'
    return problemAt(strategy, { path: ['params', ...inner], message, expected })
  })
}

/** The file is read again for the place only when there is something to tell. */
function problemAt({ file }: CustomStrategy, fault: Fault): Problem {
  const text = readText(file, readDiskFile)
  if (text.ok) return locate(parseConfigText(file, text.text).document, fault)
  const { message, expected } = fault
  return problemOf({ file, path: fault.path.join('.'), message, expected })
}

function firstLine(error: unknown): string {
  const message: unknown = error instanceof Object ? Reflect.get(error, 'message') : error
  return String(message).split('\n', 1)[0] ?? ''
}
