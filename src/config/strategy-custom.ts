import { dirname, resolve } from 'node:path'
import * as z from 'zod'
import type { CustomStrategy } from '../domain/strategy.ts'
import type { Asset } from '../domain/token.ts'
import type { Tree } from './document.ts'
import { filePath, listOf, section } from './scalars.ts'
import { buildSwapSettings } from './strategy-checks.ts'
import {
  buildLimits,
  buildSerialSchedule,
  findAsset,
  type StrategyContext,
  swapFields,
  symbol,
} from './strategy-fields.ts'

/** `kind: custom`: decided by a module of the operator's own. */
export const customSchema = section({
  ...swapFields,
  kind: z.literal('custom', { error: 'custom' }),
  module: filePath().describe('The ES module that decides, seen from this file'),
  tokens: listOf(symbol, 'a list of at least one token').describe(
    'The only tokens that the module sees and may trade',
  ),
  params: z
    .unknown()
    .transform((given) => given as Tree)
    .optional()
    .describe('Whatever the module asks for; its own schema reads it'),
})

type CustomInput = z.output<typeof customSchema>

/** The strategy without its module, which `load-modules.ts` brings in; undefined when it has no meaning. */
export function buildCustom(
  input: CustomInput,
  context: StrategyContext,
): CustomStrategy | undefined {
  const assets = new Map<string, Asset>()
  for (const [index, name] of input.tokens.entries()) {
    const asset = findAsset(name, { path: ['tokens', index], context })
    if (asset !== undefined) assets.set(name, asset)
  }
  if (assets.size < input.tokens.length) return undefined
  return {
    kind: 'custom',
    name: input.name,
    file: context.file,
    enabled: input.enabled,
    schedule: buildSerialSchedule(input.schedule, context),
    ...buildSwapSettings(input, context),
    priceCheck: 'feed',
    limits: buildLimits(input.limits, undefined, context),
    module: resolve(dirname(context.file), input.module),
    assets,
    params: input.params ?? {},
    decide: () => {
      throw new Error('its module was not loaded')
    },
  }
}
