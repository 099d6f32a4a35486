import { expect, test } from 'vitest'
import * as z from 'zod'
import { OUTPUTS } from '../../../../src/cli/json/outputs.ts'
import { failure } from '../../../../src/cli/json/shapes.ts'
import { isoInstant } from '../../../../src/domain/schedule/civil-date.ts'
import { time } from '../../../../src/system/json-shapes.ts'
import { leaves, theProgram } from '../program/program.ts'

const COMMANDS = leaves(theProgram())
  .filter(([, command]) => command.options.some(({ long }) => long === '--json'))
  .map(([name]) => name)

test('every command with --json has a schema, and every schema a command', () => {
  expect(COMMANDS.length).toBeGreaterThan(30)
  expect(Object.keys(OUTPUTS).toSorted()).toEqual(COMMANDS.toSorted())
})

test('every output but line output starts with ok and ends with problems', () => {
  for (const [name, { shapes, lines }] of Object.entries(OUTPUTS))
    for (const shape of [...Object.values(shapes), failure]) {
      const names = Object.keys(shape.shape)
      if (lines === true && shape !== failure) continue
      expect([names[0], names.at(-1)], name).toEqual(['ok', 'problems'])
    }
})

type Field = { readonly path: string; readonly name: string; readonly schema: z.ZodType }

/** Every field of a shape at any depth, without wrappers. */
function fieldsOf(schema: unknown, path: string): readonly Field[] {
  const core = coreOf(schema)
  if (core instanceof z.ZodObject)
    return Object.entries(core.shape).flatMap(([name, field]) => {
      const own = { path: `${path}.${name}`, name, schema: field as z.ZodType }
      return [own, ...fieldsOf(field, own.path)]
    })
  if (core instanceof z.ZodArray) return fieldsOf(core.element, `${path}[]`)
  return core instanceof z.ZodRecord ? fieldsOf(core.valueType, `${path}.<>`) : []
}

function coreOf(schema: unknown): unknown {
  let core = schema
  while (core instanceof z.ZodNullable || core instanceof z.ZodReadonly) core = core.unwrap()
  return core
}

const FIELDS = Object.entries({ ...OUTPUTS, '(failure)': { shapes: { '': failure } } }).flatMap(
  ([name, { shapes }]) => Object.values(shapes).flatMap((shape) => fieldsOf(shape, name)),
)

const isTime = (schema: unknown): boolean => schema instanceof z.ZodISODateTime

test('times are ISO text in fields that end in At, and no other field has such a name', () => {
  for (const { path, name, schema } of FIELDS)
    expect([path, isTime(coreOf(schema))]).toEqual([path, /^at$|At$/.test(name)])
})

test('a time at a whole minute includes seconds, as ISO 8601 readers require', () => {
  for (const seconds of [0, 1_799_999_940, 1_799_999_945, 951_782_399])
    expect(Date.parse(isoInstant(seconds))).toBe(seconds * 1000)
  expect(isoInstant(1_799_999_940)).toMatch(/^2027-01-15T07:59:00Z$/)
  expect(time().safeParse('2026-11-23T16:41Z').success).toBe(false)
})

/** Numbers that are not counts carry their unit in their name; a slot is named by its epoch seconds, next to its time. */
const UNITS = /(Seconds|Ms|Bps|[Pp]ercent|Bytes|Id|PerDay)$/

test('the name of a field that can be fractional or negative includes its unit', () => {
  for (const { path, name, schema } of FIELDS) {
    const core = coreOf(schema)
    if (!(core instanceof z.ZodNumber) || core.minValue === 0) continue
    expect(path).toMatch(UNITS)
    expect(name).not.toMatch(/amount|price/i)
  }
})

test('every amount is decimal text with its token', () => {
  const amounts = FIELDS.filter(({ schema }) => {
    const core = coreOf(schema)
    return core instanceof z.ZodObject && 'amount' in core.shape && 'token' in core.shape
  })
  expect(amounts.length).toBeGreaterThan(50)
  for (const { path, name } of FIELDS)
    if (/wei|units$/i.test(name)) expect.unreachable(`${path} is in base units`)
})

test('every field is required, named and described', () => {
  for (const { path, schema } of FIELDS) {
    expect([path, schema instanceof z.ZodOptional]).toEqual([path, false])
    const isOfAmount = /\.(amount|token)$/.test(path)
    expect([path, schema.description ?? (isOfAmount ? 'amount' : '')]).not.toContain('')
  }
})

test('unknown fields are rejected, so every printed field has a schema', () => {
  for (const { shapes } of Object.values(OUTPUTS))
    for (const shape of Object.values(shapes)) expect(shape.def.catchall).toBeInstanceOf(z.ZodNever)
})
