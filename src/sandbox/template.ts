import type { Hex } from 'viem'
import { WETH_BASE_ADDRESS } from '../domain/money/token.ts'
import { sandboxConfig } from './config-out.ts'
import { TABLE } from './settings/table.ts'
import { FEED_PAIRS, TOKEN_SPECS } from './tokens.ts'

const { preferOwn, onlyOwn } = TABLE.gasless.wire
const { methodPrefix, signatureHeader } = TABLE.aggregator.wire

const placeholder = (index: number): Hex => `0x${index.toString(16).padStart(40, '0')}`

/**
 * The config that a running sandbox supplies to a `mode: sandbox` file, with placeholders for URLs, addresses and the key.
 * It is enough to check a config and its strategies without starting a sandbox. Every start loads this file, so it does
 * without the settings' schema.
 */
export const SANDBOX_TEMPLATE: Readonly<Record<string, unknown>> = sandboxConfig(
  {
    rpcUrl: 'http://127.0.0.1:1',
    gaslessUrl: 'http://127.0.0.1:1',
    settings: {
      gasless: { quoteLifetime: 60, wire: { preferOwn: preferOwn[1], onlyOwn: onlyOwn[1] } },
      aggregator: {
        chainId: 11_155_111,
        wire: { methodPrefix: methodPrefix[1], signatureHeader: signatureHeader[1] },
      },
    },
    aggregator: {
      url: 'http://127.0.0.1:1',
      rpcUrl: 'http://127.0.0.1:1',
      contracts: {
        gasTank: placeholder(0x400),
        multicall: placeholder(0x401),
        trustedProposer: placeholder(0x402),
        trustlessProposer: placeholder(0x403),
        demoTarget: placeholder(0x404),
      },
    },
    deployment: {
      permit2: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
      settlement: placeholder(0x100),
      sequencerFeed: placeholder(0x101),
      tokens: TOKEN_SPECS.map((spec, index) => ({
        ...spec,
        address: spec.symbol === 'WETH' ? WETH_BASE_ADDRESS : placeholder(0x200 + index),
      })),
      feeds: FEED_PAIRS.map(([base, quote], index) => ({
        base,
        quote,
        address: placeholder(0x300 + index),
      })),
    },
  },
  { stateDir: './data', strategiesDir: './strategies', keyFile: './trader.key' },
)
