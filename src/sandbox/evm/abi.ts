import { parseAbi } from 'viem'

/** The ABI entries that the sandbox uses, with literal types for viem. A test compares them with the artifacts. */
export const settlementAbi = parseAbi([
  'struct TokenPermissions { address token; uint256 amount; }',
  'struct PermitTransferFrom { TokenPermissions permitted; uint256 nonce; uint256 deadline; }',
  'struct OrderWitness { address recipient; address tokenOut; uint256 minAmountOut; }',
  'struct Fill { address owner; PermitTransferFrom permit; OrderWitness witness; bytes signature; uint256 sellAmount; uint256 buyAmount; }',
  'function settle(Fill fill)',
  'function settleBatch(Fill[] fills)',
  'event Filled(address indexed owner, uint256 indexed nonce, address sellToken, uint256 sellAmount, address recipient, address buyToken, uint256 buyAmount)',
])

export const faucetTokenAbi = parseAbi([
  'function mint(address to, uint256 amount)',
  'function approve(address spender, uint256 amount) returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
])

export const weth9Abi = parseAbi(['function depositTo(address to) payable'])

export const feedBoardAbi = parseAbi([
  'function push(address[] feeds, int256[] answers)',
  'function set(address feed, int256 answer, uint256 startedAt, uint256 updatedAt)',
  'function newPhase(address feed)',
])
