import * as z from 'zod'
import { OUTPUTS, type Output } from '../../src/cli/json/outputs.ts'
import { failure, problem } from '../../src/cli/json/shapes.ts'
import { rowOf } from './strategy-tables.ts'

/**
 * The outputs of all commands under `--json` in Markdown: the shared shapes as tables, then a part for each command.
 */
export function outputTables(): Readonly<Record<string, string>> {
  return {
    problem: tableOf(problem, ''),
    failure: tableOf(failure, 'problems'),
    commands: Object.entries(OUTPUTS).map(partOf).join('\n\n'),
  }
}

function partOf([command, { shapes, note }]: readonly [string, Output]): string {
  const tables = Object.entries(shapes).map(([when, shape]) =>
    [
      ...(when === '' ? [] : [`${when[0]?.toUpperCase()}${when.slice(1)}:`, '']),
      tableOf(shape, 'problems'),
    ].join('\n'),
  )
  const lines = note === undefined ? [] : [note]
  return [`### \`tranched ${command}\``, ...lines, ...tables].join('\n\n')
}

/** One row per field, with those of sections, lists and maps under their path; `known` shapes have their own table. */
function tableOf(shape: z.ZodObject, known: string): string {
  const rows = Object.entries(shape.shape)
    .filter(([name]) => name !== known)
    .flatMap(([name, schema]) => rowsOf(name, schema))
  return ['| field | value | |', '|---|---|---|', ...rows].join('\n')
}

function rowsOf(path: string, schema: unknown): readonly string[] {
  if (!(schema instanceof z.ZodType)) return []
  const row = rowOf([`\`${path}\``, valueText(schema), schema.description ?? ''])
  return [row, ...innerRows(path, schema)]
}

function innerRows(path: string, schema: unknown): readonly string[] {
  const core = coreOf(schema)
  if (core instanceof z.ZodArray) return innerRows(`${path}[]`, core.element)
  if (!(core instanceof z.ZodObject) || isAmount(core) || core === problem) return []
  return Object.entries(core.shape).flatMap(([name, field]) => rowsOf(`${path}.${name}`, field))
}

function coreOf(schema: unknown): unknown {
  let core = schema
  while (core instanceof z.ZodNullable || core instanceof z.ZodReadonly) core = core.unwrap()
  return core
}

function isAmount(shape: z.ZodObject): boolean {
  return Object.keys(shape.shape).join() === 'amount,token'
}

function valueText(schema: unknown): string {
  const core = coreOf(schema)
  const text = typeNameOf(core)
  return mayBeNull(schema) ? `${text}, or null` : text
}

function mayBeNull(schema: unknown): boolean {
  if (schema instanceof z.ZodReadonly) return mayBeNull(schema.unwrap())
  return schema instanceof z.ZodNullable
}

const SETS_SHOWN_MAX = 12

function typeNameOf(core: unknown): string {
  if (core instanceof z.ZodArray) return `list of ${ofMany(core.element)}`
  if (core instanceof z.ZodRecord) return 'an object of any names'
  if (core === problem) return 'problem'
  if (core instanceof z.ZodObject) return isAmount(core) ? 'amount' : 'an object'
  if (core instanceof z.ZodLiteral)
    return [...core.values].map((value) => `\`${value}\``).join(', ')
  if (core instanceof z.ZodEnum) return setOf(core.options)
  if (core instanceof z.ZodBoolean) return 'true or false'
  if (core instanceof z.ZodNumber) return core.format === 'safeint' ? 'whole number' : 'number'
  if (core instanceof z.ZodISODateTime) return 'time'
  return core instanceof z.ZodString ? stringOf(core) : 'anything'
}

/** A long one is only in the JSON Schema. */
function setOf(options: readonly unknown[]): string {
  const shown = options.slice(0, SETS_SHOWN_MAX).map((value) => `\`${value}\``)
  return options.length > SETS_SHOWN_MAX ? `one of ${options.length} words` : shown.join(', ')
}

function ofMany(schema: unknown): string {
  const text = typeNameOf(coreOf(schema))
  if (text === 'an object') return 'objects'
  return text === 'amount' || text === 'problem' ? `${text}s` : text
}

const MADE_UP_OF: readonly (readonly [example: string, not: string, typeName: string])[] = [
  ['1', '1.5', 'whole number as text'],
  ['-1.5', 'x', 'decimal as text'],
  [`0x${'a'.repeat(40)}`, 'x', 'address'],
  [`0x${'a'.repeat(64)}`, 'x', 'hash'],
]

function stringOf(schema: z.ZodString): string {
  const takes = (value: string): boolean => schema.safeParse(value).success
  if (takes('x')) return 'text'
  return MADE_UP_OF.find(([example, not]) => takes(example) && !takes(not))?.[2] ?? 'text'
}

/** A JSON Schema of each command's output under `--json`, by command name, under `$defs`. */
export function outputSchemas(): object {
  const named = z.registry<{ id: string }>()
  named.add(problem, { id: 'problem' })
  named.add(failure, { id: 'failure' })
  for (const [command, { shapes }] of Object.entries(OUTPUTS))
    named.add(z.union([...Object.values(shapes), failure]), { id: command })
  const { schemas } = z.toJSONSchema(named, {
    uri: (id) => `#/$defs/${id.replaceAll(' ', '%20')}`,
    override: ({ jsonSchema }) => {
      delete jsonSchema.readOnly
    },
  })
  const plain = Object.entries(schemas).map(([id, { $schema: _, $id: __, id: ___, ...schema }]) => [
    id,
    schema,
  ])
  return {
    title: 'tranched --json output',
    $defs: Object.fromEntries(plain),
  }
}
