import * as z from 'zod'

/**
 * Shapes of the JSON that this program prints. Tests and the generator of docs/json.md load them. The program imports only
 * types, so its start does not build them.
 */

type Fields = z.ZodRawShape
/** The exact fields of an object, or a shape. */
type Of = z.ZodType | Fields
type Shape<Given extends Of> = Given extends z.ZodType
  ? Given
  : Given extends Fields
    ? z.ZodObject<Given, z.core.$strict>
    : never

function shapeOf<Given extends Of>(given: Given): Shape<Given> {
  return (given instanceof z.ZodType ? given : z.strictObject(given as Fields)) as Shape<Given>
}

function scalar<Type extends z.ZodType>(type: Type): (description?: string) => Type {
  return (description) => (description === undefined ? type : type.describe(description))
}

export const text = scalar(z.string())
export const flag = scalar(z.boolean())
export const number = scalar(z.number())
/** Never negative. */
export const count = scalar(z.int().min(0))
/** ISO 8601, UTC. */
export const time = scalar(z.iso.datetime())
/** A decimal as text, exact: prices and amounts. */
export const decimal = scalar(z.string().regex(/^-?\d+(\.\d+)?$/))
/** A whole number as text, because JSON readers may round it: blocks and nonces. */
export const bigWhole = scalar(z.string().regex(/^\d+$/))
export const address = scalar(z.string().regex(/^0x[0-9a-fA-F]{40}$/))
export const hash = scalar(z.string().regex(/^0x[0-9a-f]{64}$/))
export const amount = scalar(z.strictObject({ amount: decimal(), token: text() }))

export const oneOf = <const Words extends readonly string[]>(description: string, words: Words) =>
  z.enum(words).describe(description)
export const object = <const Given extends Fields>(description: string, fields: Given) =>
  z.strictObject(fields).describe(description)
export const listOf = <Given extends Of>(item: Given) => z.array(shapeOf(item)).readonly()
export const list = <Given extends Of>(description: string, item: Given) =>
  listOf(item).describe(description)
export const nullable = <Given extends Of>(description: string, of: Given) =>
  z.nullable(shapeOf(of)).describe(description)
