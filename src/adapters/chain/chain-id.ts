import { type RpcAnswers, type RpcCall, UnusableAnswer } from './json-rpc-batch.ts'
import { count } from './json-rpc-values.ts'

/** First call of every batch whose answers are believed only from the right chain. */
export const CHAIN_ID: RpcCall = { method: 'eth_chainId', params: [] }

/**
 * Throws UnusableAnswer unless the batch's first answer is the expected chain id. A node in the list may be on
 * another chain by mistake, and there every nonce bit would read unused.
 */
export function expectChain(answers: RpcAnswers, chainId: number): void {
  const found = count(answers.result(0), 'chain id')
  if (found !== chainId) throw new UnusableAnswer(`is on chain ${found}, not ${chainId}`)
}
