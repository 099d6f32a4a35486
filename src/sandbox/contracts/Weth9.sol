// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// @notice Wrapped native coin with the interface of WETH9. It is etched at a fixed address, so it has neither constructor
/// nor immutables. Deposited coin backs every unit.
contract Weth9 {
    string public constant name = "Wrapped Ether";
    string public constant symbol = "WETH";
    uint8 public constant decimals = 18;

    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Approval(address indexed owner, address indexed spender, uint256 amount);
    event Transfer(address indexed from, address indexed to, uint256 amount);
    event Deposit(address indexed to, uint256 amount);
    event Withdrawal(address indexed from, uint256 amount);

    error InsufficientBalance();
    error InsufficientAllowance();
    error NativeTransferFailed();

    receive() external payable {
        depositTo(msg.sender);
    }

    function deposit() external payable {
        depositTo(msg.sender);
    }

    /// @notice Wraps coin for another account, so that a faucet needs one transaction instead of two.
    function depositTo(address to) public payable {
        balanceOf[to] += msg.value;
        emit Deposit(to, msg.value);
    }

    function withdraw(uint256 amount) external {
        if (balanceOf[msg.sender] < amount) revert InsufficientBalance();
        balanceOf[msg.sender] -= amount;
        emit Withdrawal(msg.sender, amount);
        (bool sent,) = msg.sender.call{value: amount}("");
        if (!sent) revert NativeTransferFailed();
    }

    function totalSupply() external view returns (uint256) {
        return address(this).balance;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        return transferFrom(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) public returns (bool) {
        if (balanceOf[from] < amount) revert InsufficientBalance();
        if (from != msg.sender && allowance[from][msg.sender] != type(uint256).max) {
            if (allowance[from][msg.sender] < amount) revert InsufficientAllowance();
            allowance[from][msg.sender] -= amount;
        }
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        emit Transfer(from, to, amount);
        return true;
    }
}
