import { dirname, resolve } from 'node:path'
import * as z from 'zod'
import { filePath, listOf, section } from '../../config/scalars.ts'
import type { Tree } from '../../config/yaml/document.ts'
import type { Asset, Token } from '../../domain/money/token.ts'
import { buildSwap, warnUncapped } from '../files/checks.ts'
import {
  buildLimits,
  buildSerialSchedule,
  findAsset,
  type StrategyContext,
  swapFields,
  symbol,
} from '../files/fields.ts'
import { INDICATORS } from '../files/hints.ts'
import { kindSchema } from '../files/kind-schema.ts'
import { type CustomStrategy, custom } from './custom-kind.ts'

const schema = section({
  ...swapFields,
  kind: z.literal('custom', { error: 'custom' }),
  module: filePath().describe('ES module that decides, relative to this file'),
  tokens: listOf(symbol, 'a list of at least two tokens').describe(
    'The only tokens that the module sees and may trade',
  ),
  params: z
    .unknown()
    .transform((given) => given as Tree)
    .optional()
    .describe('Parameters of the module, read by its own schema'),
})

type CustomInput = z.output<typeof schema>

export const customFile = kindSchema(custom, {
  schema,
  build,
  does: 'decides by a module of your own',
  examples: { slow: 'buy-below-average', fast: 'custom', runsAsIs: true },
  hints: {
    otherNames: [
      [
        /^(?:rsi|sma|ema|macd|signal|indicator|momentum|mean|cross|script|module|python)/,
        INDICATORS,
      ],
    ],
  },
})

/** Does not start the module; `load-modules.ts` does. */
function build(input: CustomInput, context: StrategyContext): CustomStrategy | undefined {
  const limits = buildLimits(input.limits, undefined, context)
  const assets = buildAssets(input, context)
  if (assets === undefined) return undefined
  const tokens = new Set([...assets.values()].map(({ token }) => token))
  checkCanTrade([...tokens], context)
  for (const token of tokens) warnUncapped(token, limits, context)
  return {
    kind: 'custom',
    ...buildSwap(input, context),
    schedule: buildSerialSchedule(input.schedule, context),
    priceCheck: 'feed',
    limits,
    module: resolve(dirname(context.file), input.module),
    assets,
    params: input.params ?? {},
  }
}

function buildAssets({ tokens }: CustomInput, context: StrategyContext) {
  const assets = new Map<string, Asset>()
  for (const [index, name] of tokens.entries()) {
    const path = ['tokens', index]
    const asset = findAsset(name, { path, context })
    if (assets.has(name))
      context.report({ path, message: 'this token is listed twice', expected: 'each token once' })
    if (asset !== undefined) assets.set(name, asset)
  }
  return assets.size === tokens.length ? assets : undefined
}

/** Rejects a token that no feed connects with another: it could not even be sold. */
function checkCanTrade(tokens: readonly Token[], { pricePath, report }: StrategyContext): void {
  if (tokens.length < 2) {
    const message = 'with one token there is nothing to trade'
    report({ path: ['tokens'], message, expected: 'at least two tokens; ETH counts as WETH' })
    return
  }
  for (const token of tokens) {
    const isPriced = tokens.some((other) => other !== token && pricePath(other, token))
    if (isPriced) continue
    const message = `the config has no price feed that connects ${token.symbol} with the others`
    const expected = `an entry of ${token.symbol} under \`prices\``
    report({ path: ['tokens'], message, expected })
  }
}
