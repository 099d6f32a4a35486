import { describe, expect, test } from 'vitest'
import { brief, CONFIG, edit, problemsOf, settingsOf } from './config-fixture.ts'

const LIVE = edit(CONFIG, 'mode: dry-run', 'mode: live')

/** The live config with another key source for the trader, and further lines. */
function live(source: string, ...more: readonly string[]): string {
  return [edit(LIVE, '{ privateKeyEnv: TRADER_KEY }', source), ...more, ''].join('\n')
}

/** The config plus a second service, whose wallet is `operator`. */
function withOperator(text: string, source: string): string {
  const wallets = edit(text, 'wallets:\n', `wallets:\n  operator: ${source}\n`)
  const chains = edit(
    wallets,
    'chains:\n',
    'chains:\n  sepolia: { chainId: 11155111, rpcUrls: ["https://a.example"] }\n',
  )
  const address = (digit: string): string => `"0x${digit.repeat(40)}"`
  return `${chains}aggregator:
  rpcUrl: https://agg.example
  chain: sepolia
  wallet: operator
  contracts: { gasTank: ${address('1')}, multicall: ${address('2')}, trustedProposer: ${address('3')}, trustlessProposer: ${address('4')} }
  targets: { claim: ${address('5')} }
`
}

function anchorsIn(text: string): Record<string, string> {
  return Object.fromEntries(settingsOf(text).anchors)
}

describe('the anchor of a wallet', () => {
  test("is beside its key, under the key's name", () => {
    const keystore = live('{ keystore: keys/main.json, passwordFile: keys/main.pass }')
    expect(anchorsIn(keystore)).toEqual({ trader: '/etc/tranched/keys/main.anchor' })
    expect(anchorsIn(live('{ privateKeyFile: /keys/main.v1.hex }'))).toEqual({
      trader: '/keys/main.v1.anchor',
    })
  })

  test("is beside the config, under the wallet's name, if the key is in no file", () => {
    expect(anchorsIn(LIVE)).toEqual({ trader: '/etc/tranched/trader.anchor' })
  })

  test('is at stateAnchor, and that of a second wallet beside it', () => {
    const text = withOperator(
      live('{ privateKeyEnv: K }', 'stateAnchor: /volume/a.anchor'),
      '{ privateKeyFile: /keys/o.hex }',
    )
    expect(anchorsIn(text)).toEqual({
      trader: '/volume/a.anchor',
      operator: '/volume/operator.anchor',
    })
    const without = withOperator(LIVE, '{ privateKeyFile: /keys/o.hex }')
    expect(anchorsIn(without)).toMatchObject({ operator: '/keys/o.anchor' })
  })

  test.each([
    [
      'in the state directory',
      live('{ privateKeyFile: data/main.hex }'),
      /would go back together with it/,
    ],
    [
      'at the path of a key',
      live('{ privateKeyFile: /k/a.hex }', 'stateAnchor: /k/a.hex'),
      /this is a key/,
    ],
    [
      "at the path of another wallet's anchor",
      withOperator(live('{ privateKeyFile: /k/a.json }'), '{ privateKeyFile: /k/a.hex }'),
      /another wallet has the same/,
    ],
  ])('is rejected %s', (_where, text, message) => {
    const [problem] = problemsOf(text)
    expect(problem && brief(problem)).toMatch(message)
    expect(problem?.path).toBe('stateAnchor')
    expect(problemsOf(edit(text, 'mode: live', 'mode: dry-run'))).toEqual([])
  })
})
