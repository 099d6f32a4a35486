import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import {
  type Abi,
  type AbiFunction,
  toEventSelector,
  toFunctionSelector,
  toFunctionSignature,
} from 'viem'
import { expect, test } from 'vitest'
import { WITNESS_TYPE_STRING } from '../../../src/domain/order/permit.ts'
import {
  demoTargetAbi,
  gasTankBalanceOfAbi,
  gasTankBalancesAbi,
  multicallAbi,
  trustedProposerAbi,
  trustlessProposerAbi,
} from '../../../src/sandbox/aggregator/chain/abi.ts'
import {
  faucetTokenAbi,
  feedBoardAbi,
  settlementAbi,
  weth9Abi,
} from '../../../src/sandbox/evm/abi.ts'
import { permit2Code, permit2DomainSeparator } from '../../../src/sandbox/evm/deploy.ts'

const artifact = (name: string) =>
  JSON.parse(readFileSync(`src/sandbox/artifacts/${name}.json`, 'utf8'))

/** Selectors of functions and events in an ABI, and signatures of its errors. */
function selectors(abi: Abi): string[] {
  return abi.flatMap((item) => {
    if (item.type === 'function') return [toFunctionSelector(item)]
    if (item.type === 'event') return [toEventSelector(item)]
    if (item.type === 'error')
      return [`${item.name}(${item.inputs.map(({ type }) => type).join()})`]
    return []
  })
}

test('the committed artifacts match the compiled contracts', async () => {
  const check = promisify(execFile)(process.execPath, ['scripts/contracts.mjs', '--check'])
  expect(await check).toMatchObject({ stdout: '' })
  // Two seconds alone; on a busy machine the compiler waits for other work.
})

test.each([
  ['settlement', settlementAbi],
  ['faucet-token', faucetTokenAbi],
  ['faucet-token', faucetTokenAbi.filter((item) => item.type === 'function')],
  ['weth9', weth9Abi],
  ['feed-board', feedBoardAbi],
  ['gas-tank-balances', gasTankBalancesAbi],
  ['gas-tank-balance-of', gasTankBalanceOfAbi],
  ['proposer-multicall', multicallAbi],
  ['trusted-proposer', trustedProposerAbi],
  ['trustless-proposer', trustlessProposerAbi],
  ['demo-target', demoTargetAbi],
] as const)('every entry that the sandbox calls exists in %s', (name, abi) => {
  const compiled = selectors(artifact(name).abi)
  expect(compiled).toEqual(expect.arrayContaining(selectors(abi)))
  expect(selectors(abi).length).toBeGreaterThan(0)
})

test('the GasTank generations have the functions of published deployments, or those of the description', () => {
  const functionsOf = (name: string): string[] =>
    artifact(name)
      .abi.filter(({ type }: { type: string }) => type === 'function')
      .map((item: AbiFunction) => toFunctionSignature(item))
      .sort()
  expect(functionsOf('gas-tank-balances')).toEqual([
    'balances(address)',
    'builder()',
    'deposit()',
    'deposit(address)',
    'owner()',
    'version()',
    'withdraw(uint256)',
  ])
  expect(functionsOf('gas-tank-balance-of')).toEqual([
    'balanceOf(address)',
    'charge((address,uint256)[])',
    'deposit()',
    'depositFor(address)',
    'operator()',
  ])
})

test('an exceeded gas limit reverts with the selector of real deployments', () => {
  expect(toFunctionSelector('GasLimitExceeded()')).toBe('0xbe9179a6')
  for (const name of ['proposer-multicall', 'trustless-proposer'])
    expect(artifact(name).deployedBytecode).toContain('be9179a6')
})

test('Permit2 has its chain id and separator, and otherwise the published code', () => {
  const published: string = artifact('permit2').deployedBytecode
  const patched = permit2Code(8453)
  expect(patched).toContain((8453).toString(16).padStart(64, '0'))
  expect(patched).toContain(permit2DomainSeparator(8453).slice(2))
  expect(patched).not.toContain((31337).toString(16).padStart(64, '0'))
  expect(patched.length).toBe(published.length)
  const differing = [...published].filter((digit, index) => digit !== patched[index]).length
  expect(differing).toBeLessThanOrEqual(64 + 8)
})

test('the separator for chain 1 equals that of the real Permit2 on Ethereum', () => {
  expect(permit2DomainSeparator(1)).toBe(
    '0x866a5aba21966af95d6c7ab78eb2b2fc913915c28be3b9aa07cc04ff903e3f28',
  )
})

test('the settlement contract and the service use one witness type string', () => {
  const hex = Buffer.from(WITNESS_TYPE_STRING).toString('hex')
  // The compiler splits a long string into 32-byte words, so the test searches for the first.
  expect(artifact('settlement').deployedBytecode).toContain(hex.slice(0, 64))
})
