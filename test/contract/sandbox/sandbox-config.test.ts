import { statSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { privateKeyToAddress } from 'viem/accounts'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadSettings } from '../../../src/config/settings/load-settings.ts'
import { renderProblem } from '../../../src/config/yaml/problem.ts'
import { writeSandboxConfig } from '../../../src/sandbox/config-files.ts'
import { SANDBOX_TEMPLATE } from '../../../src/sandbox/template.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

const sandbox = sandboxForSuite()

async function written() {
  const directory = temporaryDirectory()
  const { file, keyFile, operatorKeyFile } = await writeSandboxConfig({
    sandbox: sandbox(),
    file: join(directory, 'live.yaml'),
    stateDir: join(directory, 'state'),
    strategiesDir: join(directory, 'strategies'),
  })
  return { directory, file, keyFile, operatorKeyFile }
}

/** Ether is free in a sandbox. */
const GAS = { perTransaction: '1', perDay: '1000' }

test('the written config is a complete live config that the daemon accepts', async () => {
  const { file } = await written()
  const loaded = loadSettings({ file, env: {} })
  if (!loaded.ok)
    throw new Error(
      loaded.problems.map((problem) => renderProblem(problem, { color: false })).join('\n'),
    )
  const { settings } = loaded
  expect(settings.mode).toBe('live')
  expect(settings.gasless?.baseUrl).toBe(sandbox().gaslessUrl)
  expect(settings.gasless?.spenders).toEqual([sandbox().contracts.settlement])
})

test('the written config names the second service, its chain, contracts and its own wallet', async () => {
  const { file, operatorKeyFile } = await written()
  const { aggregator, chains, wallets } = parse(await readFile(file, 'utf8'))
  const { rpcUrl, contracts } = sandbox().sepolia
  expect(chains.sepolia).toEqual({ chainId: 11_155_111, rpcUrls: [rpcUrl], finality: 1, gas: GAS })
  expect(aggregator).toMatchObject({
    rpcUrl: sandbox().aggregatorUrl,
    chain: 'sepolia',
    wallet: 'operator',
    proposer: 'trustless',
    wire: { methodPrefix: 'agg_', signatureHeader: 'X-Relay-Signature' },
  })
  const { demoTarget, ...named } = contracts
  expect(aggregator.contracts).toEqual(named)
  expect(aggregator.targets).toEqual({ demo: demoTarget })
  expect(wallets.operator).toEqual({ privateKeyFile: operatorKeyFile })
  expect(statSync(operatorKeyFile).mode & 0o777).toBe(0o600)
  const key = (await readFile(operatorKeyFile, 'utf8')).trim()
  expect(privateKeyToAddress(key as `0x${string}`)).toBe(sandbox().operator.address)
})

test('config and keys are private files, and no other file is left beside them', async () => {
  const { directory, file, keyFile } = await written()
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(statSync(keyFile).mode & 0o777).toBe(0o600)
  expect((await readdir(directory)).sort()).toEqual(['live.yaml', 'operator.key', 'trader.key'])
  const key = (await readFile(keyFile, 'utf8')).trim()
  expect(privateKeyToAddress(key as `0x${string}`)).toBe(sandbox().trader.address)
})

test('a second write is refused with the file and the remedy while one of the three files exists', async () => {
  const { directory, file, keyFile, operatorKeyFile } = await written()
  const again = () =>
    writeSandboxConfig({ sandbox: sandbox(), file, stateDir: '/other', strategiesDir: directory })
  const before = await readFile(keyFile, 'utf8')
  await writeFile(keyFile, `${before}# edited\n`)
  await expect(again()).rejects.toThrow(`${file} is there already`)
  await expect(again()).rejects.toThrow('--force')
  await rm(file)
  await expect(again()).rejects.toThrow(`${keyFile} is there already`)
  expect(await readFile(keyFile, 'utf8')).toBe(`${before}# edited\n`)
  await rm(keyFile)
  await expect(again()).rejects.toThrow(`${operatorKeyFile} is there already`)
  expect(await readdir(directory)).toEqual(['operator.key'])
})

test('a write with `replace` keeps file modes and removes the anchors of the old keys', async () => {
  const { directory, file } = await written()
  for (const name of ['trader.anchor', 'operator.anchor'])
    await writeFile(join(directory, name), '')
  await writeSandboxConfig({
    sandbox: sandbox(),
    file,
    stateDir: '/other',
    strategiesDir: directory,
    existing: 'replace',
  })
  expect(parse(await readFile(file, 'utf8')).stateDir).toBe('/other')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(await readdir(directory)).toHaveLength(3)
})

test('the template has exactly the keys of a real config', () => {
  const paths = (value: unknown, prefix = ''): string[] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, inner]) => paths(inner, `${prefix}/${key}`))
      : [prefix]
  const real = sandbox().config({ stateDir: 's', strategiesDir: 't', keyFile: 'k' })
  expect(paths(SANDBOX_TEMPLATE)).toEqual(paths(real))
})
