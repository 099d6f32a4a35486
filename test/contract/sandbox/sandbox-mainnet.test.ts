import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadSettings } from '../../../src/config/settings/load-settings.ts'
import { writeSandboxConfig } from '../../../src/sandbox/config-files.ts'
import {
  callsOf,
  delegatedAccount,
  delegationTransaction,
  newAccount,
  QUIET,
  rawTransaction,
  SEPOLIA,
  sepoliaClient,
  submit,
  submitAndLand,
  trustlessTransaction,
} from '../../support/aggregator/aggregator.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

const sandbox = sandboxForSuite({ aggregator: { ...QUIET, chainId: 1 } })

/** Ether is free in a sandbox. */
const GAS = { perTransaction: '1', perDay: '1000' }

test('the second chain can replace Mainnet, with both kinds of calls', async () => {
  expect(await sepoliaClient(sandbox()).getChainId()).toBe(1)
  expect(sandbox().sepolia.chainId).toBe(1)
  const trustless = await delegatedAccount(sandbox(), 'trustless')
  await submitAndLand(sandbox(), await trustlessTransaction(sandbox(), trustless))
  const trusted = await delegatedAccount(sandbox(), 'trusted')
  const to = sandbox().sepolia.contracts.demoTarget
  await submitAndLand(sandbox(), await rawTransaction(sandbox(), trusted, { to }))
  for (const account of [trustless, trusted]) expect(await callsOf(sandbox(), account)).toBe(1n)
})

test('a transaction signed for Sepolia is refused there', async () => {
  const account = await newAccount(sandbox())
  const { demoTarget: to, trustedProposer: delegate } = sandbox().sepolia.contracts
  const foreign = await rawTransaction(sandbox(), account, { to, chainId: SEPOLIA })
  expect((await submit(sandbox(), foreign)).body.error.message).toBe('invalid chain id 11155111')
  const raw = await delegationTransaction(sandbox(), account, { delegate, chainId: SEPOLIA })
  expect((await submit(sandbox(), raw)).body.error.message).toBe(
    'the authorization is for another chain',
  )
})

test('the written config names that chain, and the daemon accepts it', async () => {
  const directory = temporaryDirectory()
  const { file } = await writeSandboxConfig({
    sandbox: sandbox(),
    file: join(directory, 'live.yaml'),
    stateDir: join(directory, 'state'),
    strategiesDir: join(directory, 'strategies'),
  })
  const { aggregator, chains } = parse(await readFile(file, 'utf8'))
  const { rpcUrl } = sandbox().sepolia
  expect(aggregator.chain).toBe('mainnet')
  expect(chains.mainnet).toEqual({ chainId: 1, rpcUrls: [rpcUrl], finality: 1, gas: GAS })
  expect(chains.sepolia).toBeUndefined()
  expect(loadSettings({ file, env: {} }).ok).toBe(true)
})
