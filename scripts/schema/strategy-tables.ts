import * as z from 'zod'
import { commonFields, swapFields, tradeFields } from '../../src/strategies/files/fields.ts'
import { SCHEMAS } from '../../src/strategies/schemas.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Tables of a strategy's fields in Markdown, by name: the shared ones (`common`, `swap`, `trade`), then the specific
 * fields of each kind.
 */
export function strategyTables(): Readonly<Record<string, string>> {
  const shared = { ...commonFields, ...swapFields, ...tradeFields }
  const own = Object.entries(SCHEMAS).map(([kind, { schema }]) => {
    const { kind: _, ...fields } = schema instanceof z.ZodObject ? schema.shape : {}
    return [kind, tableOf(without(fields, shared))]
  })
  return {
    common: tableOf(commonFields),
    swap: tableOf(without(swapFields, commonFields)),
    trade: tableOf(without(tradeFields, swapFields)),
    ...Object.fromEntries(own),
  }
}

const MARK = /^<!-- fields: ([a-z]+) -->$/
const END = '<!-- end of fields -->'

/**
 * A Markdown text with the current tables between its marks, `<!-- fields: dca -->` and `<!-- end of fields -->`.
 *
 * @throws {Error} if a mark names no table or is not ended, or a table has no mark
 */
export function withTables(text: string, tables: Readonly<Record<string, string>>): string {
  const lines: string[] = []
  const missing = new Set(Object.keys(tables))
  let open: string | undefined
  for (const line of text.split('\n')) {
    if (line === END) open = undefined
    if (open === undefined) lines.push(line)
    const name = MARK.exec(line)?.[1]
    if (name === undefined) continue
    const table = tables[name]
    if (table === undefined || open !== undefined) throw new Error(`no table belongs at ${line}`)
    lines.push('', table, '')
    missing.delete(name)
    open = name
  }
  if (open !== undefined) throw new Error(`the table ${open} is not ended by ${END}`)
  if (missing.size > 0) throw new Error(`no mark for the tables ${[...missing].join(', ')}`)
  return lines.join('\n')
}

/** Fields missing in the other set; a field that a kind has changed counts as its own. */
function without(fields: Fields, others: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name, of]) => others[name] !== of))
}

/** One row per field, with those of sections, lists and maps under their path. */
export function tableOf(fields: Fields): string {
  const rows = Object.entries(fields).flatMap(([name, schema]) => rowsOf(name, schema))
  return ['| field | value | default | meaning |', '|---|---|---|---|', ...rows].join('\n')
}

/** Every entry of a map has the fields below `<name>`. */
function rowsOf(path: string, schema: unknown): readonly string[] {
  if (!(schema instanceof z.ZodType)) return []
  const core = coreOf(schema)
  const meaning = meaningOf(schema)
  if (core instanceof z.ZodObject) {
    const inner = Object.entries(core.shape).flatMap(([name, field]) =>
      rowsOf(`${path}.${name}`, field),
    )
    return meaning === '' ? inner : [row(path, schema, meaning), ...inner]
  }
  const element = core instanceof z.ZodArray ? coreOf(core.element as z.ZodType) : undefined
  if (element instanceof z.ZodObject) {
    const inner = Object.entries(element.shape).flatMap(([name, field]) =>
      rowsOf(`${path}[].${name}`, field),
    )
    return [row(path, schema, meaning), ...inner]
  }
  if (core instanceof z.ZodRecord) {
    const value = coreOf(core.valueType as z.ZodType)
    const inner =
      value instanceof z.ZodObject
        ? Object.entries(value.shape).flatMap(([name, field]) =>
            rowsOf(`${path}.<${entryOf(core)}>.${name}`, field),
          )
        : []
    return [row(path, schema, meaning), ...inner]
  }
  return [row(path, schema, meaning)]
}

/** The name of a map's entry: `symbol` of `a map of symbol: token`. */
function entryOf(map: z.ZodType): string {
  return /^a map of (\S+):/.exec(expectationOf(map))?.[1] ?? 'name'
}

function row(path: string, schema: z.ZodType, meaning: string): string {
  const value = coreOf(schema) instanceof z.ZodObject ? 'a section' : expectationOf(schema)
  return rowOf([`\`${path}\``, value, defaultOf(schema), meaning])
}

/** A row of a Markdown table. */
export function rowOf(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

/** Schemas put the expected value into zod's message: an invalid value yields it. */
export function expectationOf(schema: z.ZodType): string {
  const parsed = schema.safeParse(Symbol('no value'))
  return parsed.success ? 'anything' : (parsed.error.issues[0]?.message ?? '')
}

function defaultOf(schema: z.ZodType): string {
  if (schema instanceof z.ZodOptional) return ''
  if (!(schema instanceof z.ZodPrefault)) return 'required'
  const { defaultValue } = schema.def
  return typeof defaultValue === 'string' ? `\`${defaultValue}\`` : ''
}

/** The outermost description: a use is more specific than the schema it wraps. */
function meaningOf(schema: z.ZodType): string {
  for (
    let at: unknown = schema;
    at instanceof z.ZodType;
    at = isWrapper(at) ? at.unwrap() : undefined
  )
    if (at.description !== undefined) return at.description
  return ''
}

type Wrapper = z.ZodOptional | z.ZodPrefault | z.ZodLazy

function isWrapper(schema: unknown): schema is Wrapper {
  return [z.ZodOptional, z.ZodPrefault, z.ZodLazy].some((wrapper) => schema instanceof wrapper)
}

/** A schema without its optional, lazy and transform wrappers. */
export function coreOf(schema: z.ZodType): unknown {
  let core: unknown = schema
  while (isWrapper(core)) core = core.unwrap()
  // A section that is transformed after parsing.
  return core instanceof z.ZodPipe && core.in instanceof z.ZodObject ? core.in : core
}
