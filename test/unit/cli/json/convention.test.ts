import { expect, test } from 'vitest'
import * as z from 'zod'
import { OUTPUTS } from '../../../../src/cli/json/outputs.ts'
import { failure } from '../../../../src/cli/json/shapes.ts'
import { isoInstant } from '../../../../src/domain/schedule/civil-date.ts'
import { time } from '../../../../src/system/json-shapes.ts'
import { leaves, theProgram } from '../program/program.ts'

const COMMANDS = leaves(theProgram())
  .filter(([, command]) => command.options.some(({ long }) => long === '--json'))
  .map(([words]) => words)

test('every command that takes --json has a schema, and every schema a command', () => {
  expect(COMMANDS.length).toBeGreaterThan(30)
  expect(Object.keys(OUTPUTS).toSorted()).toEqual(COMMANDS.toSorted())
})

test('every output says first whether all is well and last what is wrong with the files; but for lines', () => {
  for (const [words, { shapes, lines }] of Object.entries(OUTPUTS))
    for (const shape of [...Object.values(shapes), failure]) {
      const names = Object.keys(shape.shape)
      if (lines === true && shape !== failure) continue
      expect([names[0], names.at(-1)], words).toEqual(['ok', 'problems'])
    }
})

type Field = { readonly path: string; readonly name: string; readonly schema: z.ZodType }

/** Every field of a shape at whatever depth, without what only wraps it. */
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
  ([words, { shapes }]) => Object.values(shapes).flatMap((shape) => fieldsOf(shape, words)),
)

const isTime = (schema: unknown): boolean => schema instanceof z.ZodISODateTime

test('times are ISO text in fields that end in At, and nothing else is called so', () => {
  for (const { path, name, schema } of FIELDS)
    expect([path, isTime(coreOf(schema))]).toEqual([path, /^at$|At$/.test(name)])
})

test('a time at a whole minute has its seconds all the same, without which no reader of ISO 8601 takes it', () => {
  for (const seconds of [0, 1_799_999_940, 1_799_999_945, 951_782_399])
    expect(Date.parse(isoInstant(seconds))).toBe(seconds * 1000)
  expect(isoInstant(1_799_999_940)).toMatch(/^2027-01-15T07:59:00Z$/)
  expect(time().safeParse('2026-11-23T16:41Z').success).toBe(false)
})

/** Numbers that are no counts have their unit in their name; epoch seconds are the name of a slot, beside its time. */
const UNITS = /(Seconds|Ms|Bps|[Pp]ercent|Bytes|Id|PerDay)$/

test('what may be a fraction or negative says in its name in what it is', () => {
  for (const { path, name, schema } of FIELDS) {
    const core = coreOf(schema)
    if (!(core instanceof z.ZodNumber) || core.minValue === 0) continue
    expect(path).toMatch(UNITS)
    expect(name).not.toMatch(/amount|price/i)
  }
})

test('an amount is decimal text with its token, wherever one is told', () => {
  const amounts = FIELDS.filter(({ schema }) => {
    const core = coreOf(schema)
    return core instanceof z.ZodObject && 'amount' in core.shape && 'token' in core.shape
  })
  expect(amounts.length).toBeGreaterThan(50)
  for (const { path, name } of FIELDS)
    if (/wei|units$/i.test(name)) expect.unreachable(`${path} is in base units`)
})

test('every field is always there, known by name and explained', () => {
  for (const { path, schema } of FIELDS) {
    expect([path, schema instanceof z.ZodOptional]).toEqual([path, false])
    const isOfAmount = /\.(amount|token)$/.test(path)
    expect([path, schema.description ?? (isOfAmount ? 'amount' : '')]).not.toContain('')
  }
})

test('unknown fields are refused, so that none is printed that no schema names', () => {
  for (const { shapes } of Object.values(OUTPUTS))
    for (const shape of Object.values(shapes)) expect(shape.def.catchall).toBeInstanceOf(z.ZodNever)
})
