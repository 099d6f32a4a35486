// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// @notice GasTank generation that only takes deposits. Charges never leave it, so its figures only grow, and only the
/// service knows the remainder of a deposit. Deposits cannot be withdrawn. A plain transfer reverts, because it names no
/// account.
contract GasTankBalances {
    mapping(address account => uint256 amount) public balances;

    event Deposited(address indexed account, address indexed from, uint256 amount);

    function deposit(address account) external payable {
        balances[account] += msg.value;
        emit Deposited(account, msg.sender, msg.value);
    }
}
